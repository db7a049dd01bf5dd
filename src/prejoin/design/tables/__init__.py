"""Several tables: a workload split by what its entities need of their own, priced against one table."""
