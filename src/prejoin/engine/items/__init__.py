"""Items: read and written by key, page by page, with the capacity that costs."""
