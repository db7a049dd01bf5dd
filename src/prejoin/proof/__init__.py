"""A design run for real: data, every access pattern through the client, and the answers compared with the data."""
