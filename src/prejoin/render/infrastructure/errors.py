"""What cannot be deployed, said to the person who asked for it."""

from __future__ import annotations


class InfrastructureError(ValueError):
    """A name, a number or a role that AWS would refuse, and what would do."""
