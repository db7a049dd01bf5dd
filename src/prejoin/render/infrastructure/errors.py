"""Errors of rendering infrastructure."""

from __future__ import annotations


class InfrastructureError(ValueError):
    """AWS would refuse a name, a number or a role: what is wrong, and what to write instead.

    >>> str(InfrastructureError("the role desk sends no request to the table", "leave it out"))
    'the role desk sends no request to the table: leave it out'
    """

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(f"{message}: {fix}" if fix else message)
        self.message = message
        self.fix = fix
