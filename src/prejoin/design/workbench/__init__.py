"""NoSQL Workbench models: the file format, and a design and workload read from one. `render` writes them."""
