"""Streams of a table: their records as typed changes, and handlers for them."""
