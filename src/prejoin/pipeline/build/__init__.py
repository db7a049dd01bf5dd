"""Builds: the files that are generated from a document, their settings, their plan and their record."""
