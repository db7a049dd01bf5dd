"""DynamoDB's protocol, without I/O: values, numbers, keys, sizes, expressions, errors, limits and prices."""
