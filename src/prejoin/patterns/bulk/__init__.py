"""Jobs over millions of items: load, update, delete, copy, export."""
