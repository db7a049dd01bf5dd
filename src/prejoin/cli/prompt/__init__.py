"""Conversations on a terminal: the approval of a design, and the interview."""
