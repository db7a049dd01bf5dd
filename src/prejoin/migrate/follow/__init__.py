"""Follow the changes of a database: read its log, read the changed rows again, write their items."""
