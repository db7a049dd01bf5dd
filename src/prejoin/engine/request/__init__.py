"""Requests: decoded from JSON into structs, and checked as DynamoDB does before it looks at a table."""
