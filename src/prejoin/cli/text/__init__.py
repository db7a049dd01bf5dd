"""The output of commands: messages, tables and pages."""
