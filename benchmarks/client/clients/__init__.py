"""An adapter for each contender, written as the library's guide recommends."""
