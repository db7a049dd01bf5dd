"""What if the document said something else: `WhatIf(workload, solution).attempt(change)` designs it and compares.

A question is a list of changes, and how their outcomes are chosen and worded:

- `alternatives`: other designs for the same document, and the table without a pattern
- `frontier`: the designs that trade structures for money
- `filters`, `simplifications`, `relaxations`: what could be given up, with the lines of the document for it
- `workarounds`: other requests on the design as it is, which need no other design
- `conflicts`: the statements that together leave no design
- `split`, `comparison`: a table for each part of the document
"""
