"""Stores: where items live, in memory or in a SQLite file, behind one interface."""
