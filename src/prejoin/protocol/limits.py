"""Every limit of DynamoDB that we count against, each once."""

from __future__ import annotations

from typing import Final

KB: Final = 1024
MB: Final = 1024 * KB
GB: Final = 1024 * MB

ITEM_SIZE: Final = 400 * KB
PARTITION_KEY_SIZE: Final = 2048
SORT_KEY_SIZE: Final = 1024
NESTING: Final = 32
PAGE_SIZE: Final = MB

BATCH_GET_KEYS: Final = 100
BATCH_GET_SIZE: Final = 16 * MB
BATCH_WRITE_REQUESTS: Final = 25
BATCH_WRITE_SIZE: Final = 16 * MB
TRANSACTION_ACTIONS: Final = 100
TRANSACTION_SIZE: Final = 4 * MB
CLIENT_TOKEN_LENGTH: Final = 36

EXPRESSION_SIZE: Final = 4 * KB
EXPRESSION_OPERATORS: Final = 300
IN_OPERANDS: Final = 100
PLACEHOLDER_SIZE: Final = 255
SUBSTITUTIONS_SIZE: Final = 2 * MB

TABLE_NAME_MINIMUM: Final = 3
TABLE_NAME_MAXIMUM: Final = 255
KEY_NAME_LENGTH: Final = 255
"""Of attributes in keys, and of those that an index projects by name; any other attribute's name may be longer."""
ATTRIBUTE_NAME_SIZE: Final = 64 * KB - 1
GLOBAL_INDEXES: Final = 20
LOCAL_INDEXES: Final = 5
INDEX_PARTITION_ATTRIBUTES: Final = 4
INDEX_SORT_ATTRIBUTES: Final = 4
INDEX_PROJECTED_ATTRIBUTES: Final = 20
PROJECTED_ATTRIBUTES: Final = 100
COLLECTION_SIZE_WITH_LOCAL_INDEX: Final = 10 * GB

NUMBER_DIGITS: Final = 38
NUMBER_EXPONENT_MAXIMUM: Final = 125
NUMBER_EXPONENT_MINIMUM: Final = -130

PARTITION_READ_UNITS: Final = 3000
PARTITION_WRITE_UNITS: Final = 1000
