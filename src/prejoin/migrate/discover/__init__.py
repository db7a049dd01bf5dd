"""Derive entities, access patterns and a mapping from a database and the SQL that runs on it."""
