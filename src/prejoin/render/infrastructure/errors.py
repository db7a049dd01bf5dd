"""Errors of rendering infrastructure."""

from __future__ import annotations


class InfrastructureError(ValueError):
    """AWS would refuse a name, a number or a role."""
