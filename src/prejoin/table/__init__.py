"""The client: typed entities on one table. Private; its public names are exported by `prejoin`."""
