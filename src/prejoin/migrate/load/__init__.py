"""Plan and run the load: read rows, write items, remember how far it came."""
