"""Shared code of the benchmarks: worker processes, figures, tables."""
