"""The schema: declarations of entities and keys, their binding to classes, and the hooks of patterns."""
