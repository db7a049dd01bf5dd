"""The solver: candidate keys, the integer program that selects among them, and the claims its solution supports."""
