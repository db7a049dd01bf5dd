"""What the commands print: messages, tables and pages."""
