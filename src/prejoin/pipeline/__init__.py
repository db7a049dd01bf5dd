"""What the commands do, as functions: read a document, check it, design, prove, build and query it."""
