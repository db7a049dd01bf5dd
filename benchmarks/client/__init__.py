"""Compares the CPU and time of calls with other clients for Python. `python benchmarks/client`."""
