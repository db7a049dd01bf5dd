"""Step 2: keys for a workload, and the operation of each access pattern."""
