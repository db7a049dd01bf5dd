"""Audit and repair: the table compared with its schema."""
