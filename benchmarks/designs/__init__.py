"""The exam: published designs beside ours, pattern by pattern, each of ours proven by running it."""
