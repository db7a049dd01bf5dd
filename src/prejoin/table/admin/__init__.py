"""The table itself: created, extended by indexes, compared with its schema."""
