"""The solver: candidate keys, the integer program over them, and what its solution establishes."""
