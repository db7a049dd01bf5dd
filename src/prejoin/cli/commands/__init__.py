"""The commands of `prejoin`, one module each."""
