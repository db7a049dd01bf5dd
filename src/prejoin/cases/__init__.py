"""Cases of access patterns: the items before, the inputs and the expected result, found by search. Nothing is run."""
