"""The planner: which index and key condition serve a lookup."""
