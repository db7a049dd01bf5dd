"""A design as pages for people: which method answers which question, and which key holds what and is read by whom."""
