"""Read the SQL that an application runs: collect it, parse it, group it."""
