"""Reads: planning, requests, decoding, pages and cursors. No I/O here."""
