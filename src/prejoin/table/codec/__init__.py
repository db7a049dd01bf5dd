"""Conversion of objects to DynamoDB items and back."""
