"""Key templates: how values become keys, and keys become values again."""
