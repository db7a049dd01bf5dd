"""How fast the embedded engine answers, beside other local DynamoDBs, in one run. `python benchmarks/engine`."""
