"""The table's layout: chosen keys as templates, words in keys, projections, shards, growth of a table in use."""
