"""Tables: their definitions, the rules for creating and updating them, how much they hold."""
