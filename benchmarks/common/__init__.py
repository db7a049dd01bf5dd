"""What the benchmarks share: processes that do what they are told, figures, tables."""
