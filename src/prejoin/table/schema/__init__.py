"""The schema: entities and keys as declared, checked and bound to classes, and the hooks for patterns."""
