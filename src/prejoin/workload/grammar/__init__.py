"""The small grammar of the document's cells and lists: one file a construct, reading and writing side by side."""
