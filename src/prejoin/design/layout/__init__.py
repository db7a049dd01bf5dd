"""The layout of the table: key templates with their words, projections, shards, and growth of a table in use."""
