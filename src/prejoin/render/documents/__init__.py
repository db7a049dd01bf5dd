"""Pages about a design: the methods of its access patterns, and its keys."""
