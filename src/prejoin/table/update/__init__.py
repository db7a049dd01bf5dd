"""Updates as data: recorded assignments, and values that DynamoDB computes."""
