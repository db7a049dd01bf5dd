"""Compare the database with the table: counts, checksums, attributes, access patterns."""
