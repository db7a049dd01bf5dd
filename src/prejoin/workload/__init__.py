"""Step 1: what an application stores and asks, and the document it is written down in."""
