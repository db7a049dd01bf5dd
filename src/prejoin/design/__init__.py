"""Step 2: keys for a workload, and what each access pattern becomes with them."""
