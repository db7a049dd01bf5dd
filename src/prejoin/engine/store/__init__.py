"""Stores, in memory or in a SQLite file, behind one interface."""
