"""Audit and repair: the table compared with what its schema says."""
