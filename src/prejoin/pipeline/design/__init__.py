"""Designs of a document: solved and proven, read from a file, and written to a file."""
