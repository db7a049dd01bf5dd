"""Constructs of the document: one module each, from its line in the document to what the proof expects of it."""
