"""The access-pattern document in Markdown: read into a workload, and written from one."""
