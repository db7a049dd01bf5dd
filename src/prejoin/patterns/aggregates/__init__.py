"""Counts, sums and extremes of an item's children, kept by the writes that change them."""
