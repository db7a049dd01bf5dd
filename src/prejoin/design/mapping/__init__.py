"""Access patterns mapped to requests: which key answers a read, which items a write touches."""
