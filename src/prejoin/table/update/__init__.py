"""Changes of an update: recorded assignments, and values that DynamoDB computes."""
