"""What a call costs the client: ours beside others for Python, in one run. `python benchmarks/client`."""
