"""Queries: one access pattern of a document, run by its id."""
