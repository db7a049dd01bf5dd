"""Items: their keys, reads, writes, index entries and consumed capacity."""
