"""The clients, sync and async: methods that people call. What they do is in `read` and `write`."""
