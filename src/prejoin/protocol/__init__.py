"""DynamoDB's language, without I/O: values, numbers, keys, sizes, expressions, errors, limits, prices."""
