"""Infrastructure as code for a design: its table, and policies for its roles."""
