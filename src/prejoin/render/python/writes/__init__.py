"""Renders the methods of writes.

New items are parameters as objects. Other values are taken from these objects if they have them, else from parameters.
"""
