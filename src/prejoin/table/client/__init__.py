"""The sync and async clients. Their methods call `read` and `write`."""
