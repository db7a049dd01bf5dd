"""Step 1: the entities and access patterns of an application, and the document that describes them."""
