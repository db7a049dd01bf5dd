"""What the patterns of a workload mean: every name is bound, and every part that the document leaves open is filled in.

`resolve_write` gives the steps of a write, `resolve_read` the clauses of a read. Checks, designs, code, tests and
documents ask these objects, so that a pattern means the same everywhere.
"""
