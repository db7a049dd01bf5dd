"""The mapping of access patterns to requests: which key answers a read, and which items a write touches."""
