"""The table design as a Markdown document that people review: written from a design, and read back as the same one."""
