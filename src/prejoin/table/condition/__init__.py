"""Conditions: recorded from Python, rendered as expressions, described in messages, evaluated here."""
