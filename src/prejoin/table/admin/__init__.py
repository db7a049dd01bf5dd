"""Administration of the table: create it, add indexes, compare it with the schema."""
