"""Patterns: recurring rules of single tables, declared as `Entity(…, patterns=[…])`. Public names are in `prejoin`."""
