"""The requests of an operation as they are sent, with placeholders for names and values.

An `Operation` says which items a pattern touches and why; it is what the solver prices. The literal requests are made
from it once, for the final design: with the conditions that the client adds (hidden items, owners of unique values,
values read before), with the keys of indexes, and with expressions as trees. Their text is made by
`protocol.expressions.text`.
"""
