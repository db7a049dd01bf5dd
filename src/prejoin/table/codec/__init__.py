"""Objects as DynamoDB items, and items as objects."""
