"""A design as infrastructure: its table, and who may do what with it, in the languages that deploy such things."""
