"""What patterns cost: reads over shards and time buckets beside one partition, writes beside a plain write."""
