"""Writes without I/O: from a call to the actions of one request or transaction."""
