"""From one design to the next, while the application runs: the versions of its code between, and the work on items."""
