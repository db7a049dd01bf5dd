"""One request: signed, repeated where that is safe, its outcome judged. No I/O."""
