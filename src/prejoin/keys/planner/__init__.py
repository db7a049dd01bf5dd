"""The planner: from the attributes given to the index and key condition that answer."""
