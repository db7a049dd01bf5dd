"""The headings, columns and labels of a table design, and their synonyms."""

from __future__ import annotations

from prejoin.workload.document.tables import KnownNames

REVIEW = "For Reviewers"
CONFIGURATION = "Table Configuration"
INDEXES = "Secondary Indexes"
KEYS = "Keys"
UNIQUE = "Unique Values"
COUNTERS = "Sharded Counters"
CONTENTS = "Large Contents"
HISTORIES = "Version Histories"
COLLECTIONS = "Item Collections"
PATTERNS = "Access Patterns"
READS, WRITES, DELETES = "Reads", "Writes", "Deletes"
DECISIONS = "Design Decisions"
VALIDATION = "Validation"
SECTIONS = (
    REVIEW, CONFIGURATION, INDEXES, KEYS, UNIQUE, COUNTERS, CONTENTS, HISTORIES, COLLECTIONS, PATTERNS, READS, WRITES,
    DELETES, DECISIONS, VALIDATION,
)  # fmt: skip

TITLE = "table design"
SOURCE = "Access patterns"
KEEPS = "Keeps"
"""The line that names the design in use that this one extends. It binds every later design of the document."""
MOVES = "Moves"
"""The line that names the entities which have another key in the table than in the design in use."""
SUMMARY = "Summary"
STATUS = "Status"
UNREVIEWED = "Not reviewed"
"""The line that lists additions since the approval. The reviewer deletes it."""

SETTINGS = (
    "Table name", "Billing mode", "Partition key", "Sort key", "Type attribute", "Separator", "Raw keys",
    "TTL attribute", "Purpose",
)  # fmt: skip
REVIEW_LABELS = ("Structures", "Served", "Price", "Risks", "Assumed", "Numbers in keys")
COST_COLUMNS = ("Most Expensive", "What It Does", "Times a Second", "Units", "A Month")
SETTING_COLUMNS = ("Setting", "Value")
INDEX_COLUMNS = ("Index", "Kind", "Partition Key", "Sort Key", "Projection", "Serves", "Purpose")
KEY_COLUMNS = ("Table or Index", "Partition Key", "Sort Key", "Only When")
ALL_KEY_COLUMNS = ("Entity", *KEY_COLUMNS)
"""The columns of one table with the keys of all entities."""
UNIQUE_COLUMNS = ("Entity", "Attributes", "Partition Key", "Sort Key", "Example")
COUNTER_COLUMNS = ("Entity", "Attributes", "Shards", "Partition Key", "Sort Key")
CONTENT_COLUMNS = ("Entity", "Attribute", "Place")
STORE, PARTS = "object store", "parts"
"""The places of large contents."""
HISTORY_COLUMNS = ("Entity", "Keeps", "Partition Key", "Sort Key")
COLLECTION_COLUMNS = ("Partition Key", "Sort Key", "Item")
READ_COLUMNS = (
    "ID", "Description", "Operation", "Table or Index", "Partition Key", "Sort Key", "Parameters", "Units", "Remarks",
)  # fmt: skip
WRITE_COLUMNS = (
    "ID", "Description", "Operation", "Action", "Item", "Partition Key", "Sort Key", "Changes", "Conditions", "Units",
    "Remarks",
)  # fmt: skip
VALIDATION_COLUMNS = ("Check", "Result", "Detail")
LABELS = ("Type", "Holds", "Attributes")

INTRODUCTIONS = {
    REVIEW: "This page is written anew with the design.",
    INDEXES: "An item is in an index when it has the keys of the index.",
    KEYS: (
        "`{name}` stands for the value of that attribute, written so that no two keys are the same by accident. Keys "
        "sort as the values do, except for numbers marked `plain`, whose order nothing depends on."
    ),
    UNIQUE: (
        "A value that may be there once has an item of its own, whose key is the value. It is written in the same "
        "transaction as the item that has the value."
    ),
    COUNTERS: (
        "A number that is added to more often than one item can be written has several items, each in a partition of "
        "its own. A write adds to one of them at random, and a read sums them and the number in the item itself."
    ),
    CONTENTS: (
        "A content that no item is large enough for is beside its item, which refers to it: in parts in the item's "
        "collection, or in an object store."
    ),
    HISTORIES: (
        "Each update or delete puts the version that it replaces, in the same transaction. The document says how many "
        "are kept, and their keys follow from those of the items."
    ),
    COLLECTIONS: (
        "What shares a partition is read by one query. Examples, in the order in which DynamoDB keeps them; the values "
        "are made up."
    ),
    PATTERNS: "This follows from the keys above. To change it, change those.",
}
"""Generated texts: in a document they are not the author's."""
FORMER_INTRODUCTIONS = (
    "`{name}` stands for the value of that attribute, written so that no two keys are the same by accident and that "
    "keys sort as the values do.",
)
"""Texts of earlier versions, which are not kept."""
NO_INDEXES = "There are none."
NOT_CHECKED = "Nothing has been checked yet."
SAMPLE = "For example:"

_OTHERS = {
    "table configuration": ("configuration", "table"),
    "secondary indexes": ("global secondary indexes", "gsis", "gsi", "indexes", "global secondary indexes (gsis)"),
    "keys": ("entity keys", "keys per entity", "entities", "primary keys", "entity key design", "key design"),
    "unique values": ("guards", "uniqueness", "unique"),
    "sharded counters": ("counters",),
    "large contents": ("contents", "large items"),
    "version histories": ("histories", "history", "versions"),
    "item collections": ("collections",),
    "access patterns": ("access pattern mapping", "mapping", "operations"),
    "reads": ("read patterns",),
    "writes": ("write patterns",),
    "deletes": ("delete patterns",),
    "design decisions": ("decisions",),
    "validation": ("checks",),
    "table name": ("table", "name"),
    "billing mode": ("billing", "capacity mode"),
    "partition key": ("pk", "hash key", "partition key value", "pk value"),
    "sort key": ("sk", "range key", "sort key condition", "sk condition"),
    "type attribute": ("type", "entity type attribute"),
    "ttl attribute": ("ttl",),
    "index": ("gsi", "name", "index name"),
    "table or index": ("index", "key", "slot", "table or gsi", "gsi", "table/gsi"),
    "only when": ("when", "sparse", "sparse when"),
    "entity": ("item", "entities"),
    "attributes": ("attribute",),
    "id": ("ap id", "pattern", "ap"),
    "operation": ("dynamodb operation",),
    "parameters": ("params", "additional parameters"),
    "conditions": ("condition", "condition expression"),
    "check": ("checked",),
    "type": ("tag", "entity type"),
    "holds": ("attributes",),
}


def names(*known: str) -> KnownNames:
    """Known names with their synonyms."""
    return KnownNames(known, _OTHERS)
