"""The table design as a Markdown document for review. It reads back as the same design."""
