"""Cost: units, sizes and rates, declared or assumed, and the monthly bill."""
