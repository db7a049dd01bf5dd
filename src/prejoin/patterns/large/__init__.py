"""Large attributes: contents of any size beside an item, in parts or in an object store."""
