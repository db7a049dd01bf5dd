"""Table definitions, the rules for creating and updating tables, and item counts."""
