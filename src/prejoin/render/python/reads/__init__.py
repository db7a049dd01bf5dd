"""Renders the methods of reads."""
