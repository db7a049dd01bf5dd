"""prejoin: you write down what your application asks; it designs, proves and runs the one DynamoDB table."""

__version__ = "0.1.0"
