"""The version of prejoin."""

__version__ = "0.1.0"
