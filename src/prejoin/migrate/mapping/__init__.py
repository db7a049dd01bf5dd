"""How rows become items: the file `mapping.toml`, its checks, and the conversion of values."""
