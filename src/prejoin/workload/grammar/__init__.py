"""The small grammar inside the document's cells and list entries: one file a construct, reading and writing side by side."""
