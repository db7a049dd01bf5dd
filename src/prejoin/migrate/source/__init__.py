"""Read a relational database: connection, schema, statistics, rows. Nothing here writes to it."""
