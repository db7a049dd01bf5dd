"""Trees of paths, and moves of subtrees."""
