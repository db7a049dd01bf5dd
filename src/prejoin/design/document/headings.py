"""The headings, columns and labels of a table design, and their synonyms."""

from __future__ import annotations

from prejoin.constructs.registry import CONSTRUCTS

REVIEW = "For Reviewers"
CONFIGURATION = "Table Configuration"
INDEXES = "Secondary Indexes"
KEYS = "Keys"
UNIQUE = "Unique Values"
COUNTERS = "Sharded Counters"
CONTENTS = "Large Contents"
COLLECTIONS = "Item Collections"
PATTERNS = "Access Patterns"
READS, WRITES, DELETES = "Reads", "Writes", "Deletes"
DECISIONS = "Design Decisions"
VALIDATION = "Validation"
REQUESTS = "Requests"
CONSTRUCT_SECTIONS = {construct.section.title: construct.section for construct in CONSTRUCTS if construct.section}
"""The sections of constructs, by their titles."""
SECTIONS = (
    REVIEW, CONFIGURATION, INDEXES, KEYS, UNIQUE, COUNTERS, CONTENTS, *CONSTRUCT_SECTIONS, COLLECTIONS, PATTERNS, READS,
    WRITES, DELETES, DECISIONS, VALIDATION, REQUESTS,
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

REVIEW_LABELS = ("Structures", "Served", "Price", "Risks", "Assumed", "Numbers in keys")
STORE, PARTS = "object store", "parts"
"""The places of large contents."""

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
        "collection, or in an object store. A write stores them before the item, and no request of a method "
        "deletes them: `remove_garbage` deletes those to which no item refers."
    ),
    **{title: section.introduction for title, section in CONSTRUCT_SECTIONS.items()},
    COLLECTIONS: (
        "What shares a partition is read by one query. Examples, in the order in which DynamoDB keeps them; the values "
        "are made up."
    ),
    REQUESTS: (
        "What is sent for each access pattern, in order. `#name` stands for the attribute of that name, and the text "
        "says what each `:value` is: `{name}` is an input, and text in quotes with `{name}` in it is made as keys are. "
        "A put has all attributes of its item that have a value, with the keys and the type. A transaction of which "
        "one item is left is sent as a plain request."
    ),
    PATTERNS: (
        "This follows from the keys above. To change it, change those. Parameters, changes and conditions are in short "
        "form: the client adds some, for example that an item has not expired. Requests has the complete expressions."
    ),
}
"""Generated texts: in a document they are not the author's."""
FORMER_INTRODUCTIONS = (
    "`{name}` stands for the value of that attribute, written so that no two keys are the same by accident and that "
    "keys sort as the values do.",
    "This follows from the keys above. To change it, change those.",
    "A content that no item is large enough for is beside its item, which refers to it: in parts in the item's "
    "collection, or in an object store.",
)
"""Texts of earlier versions, which are not kept."""
NO_INDEXES = "There are none."
NOT_CHECKED = "Nothing has been checked yet."
SAMPLE = "For example:"
REPEATED = "With `again=True`, for what an index did not show the first time:"
READ_CONTENTS = "With `read_large` or `stream_large`, for a large content of a result:"

_OTHERS = {
    "table configuration": ("configuration", "table"),
    "secondary indexes": ("global secondary indexes", "gsis", "gsi", "indexes", "global secondary indexes (gsis)"),
    "keys": ("entity keys", "keys per entity", "entities", "primary keys", "entity key design", "key design"),
    "unique values": ("guards", "uniqueness", "unique"),
    "sharded counters": ("counters",),
    "large contents": ("contents", "large items"),
    **{title.lower(): section.synonyms for title, section in CONSTRUCT_SECTIONS.items()},
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


def synonyms(name: str) -> tuple[str, ...]:
    """Other names of a section, a column, a setting or a label."""
    return _OTHERS.get(name.lower(), ())
