"""Rows of PostgreSQL into one table: `migrate load` beside a loop of SQLAlchemy and boto3."""
