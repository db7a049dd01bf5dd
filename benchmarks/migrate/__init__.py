"""Compares `migrate load` from PostgreSQL with a loop of SQLAlchemy and boto3."""
