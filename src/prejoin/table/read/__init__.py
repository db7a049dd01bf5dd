"""Reads without I/O: planned, sent, decoded, page by page."""
