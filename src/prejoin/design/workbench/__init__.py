"""NoSQL Workbench's data models: the file's form, and a design and a workload read from one. Writing is a rendering."""
