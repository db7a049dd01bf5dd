# ruff: noqa: E501 - a row of a table is a line
"""Every construct of the document's grammar: how it is written, what it means, and other spellings of the same.

The tables of `docs/guides/access-patterns.md` are written from this one by `scripts/reference.py`. Tests read each
example with the grammar, and fail where a keyword of the grammar occurs in none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from prejoin.constructs.registry import CONSTRUCTS
from prejoin.workload.document import tables
from prejoin.workload.document.columns import Column
from prejoin.workload.document.markdown import escape_cell, write_row
from prejoin.workload.grammar.answers import (
    read_combine,
    read_consistency,
    read_page,
    read_result,
    read_sort,
    read_yes_no,
)
from prejoin.workload.grammar.attributes import read_attribute
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_cardinality, read_count, read_rate, read_size
from prejoin.workload.grammar.statements import PIN_FIX, read_pin, read_relationship, read_tenant
from prejoin.workload.grammar.values import read_retention
from prejoin.workload.grammar.writes import read_actions, read_checks
from prejoin.workload.model import Pin


class GrammarRow(msgspec.Struct, frozen=True):
    """One way to write something."""

    example: str
    meaning: str
    also: tuple[str, ...] = ()
    """Other spellings, which read as the same."""


class GrammarTable(msgspec.Struct, frozen=True):
    """The constructs of one place in the document."""

    title: str
    rows: tuple[GrammarRow, ...]
    read: Callable[[str], object] | None = None
    """Reads an example, and raises `Inexact` where it is not exact. None for names of columns and labels."""
    head: tuple[str, str] = ("You write", "It means")


INPUTS = frozenset({"quantity", "oldStatus", "tenantId", "followedId", "tag", "region"})
"""The inputs of the pattern that the examples of writes belong to."""


def _flag(text: str) -> object:
    return read_attribute(f"`name` (string, {text})")


def _type(text: str) -> object:
    return read_attribute(f"`name` ({text})")


def _decision(text: str) -> Pin:
    if (pin := read_pin(text)) is None:
        raise Inexact(f"`{text}` is not a decision", PIN_FIX)
    return pin


def _cardinality(text: str) -> object:
    return read_cardinality(text, "Order")


def _rows_of_columns(columns: Iterable[Column], *meanings: tuple[str, str]) -> tuple[GrammarRow, ...]:
    """A row for each column or label, with its other names."""
    names = {name for name, _ in meanings}
    synonyms = {column.name: tuple(other for other in column.synonyms if other not in names) for column in columns}
    return tuple(GrammarRow(name, meaning, synonyms[name]) for name, meaning in meanings)


def _rows(*rows: tuple[str, str] | tuple[str, str, tuple[str, ...]]) -> tuple[GrammarRow, ...]:
    return tuple(GrammarRow(row[0], row[1], row[2] if len(row) == 3 else ()) for row in rows)


SECTIONS = GrammarTable(
    "Sections",
    _rows(
        ("# Title", "the application's name; has to be there"),
        ("> Status: DRAFT", "also `REVIEWED` or `APPROVED`; not needed"),
        ("## Domain Overview", "what it is about, for people; not needed", ("## Overview", "## Domain")),
        ("## Context", "facts from which it is judged whether one table fits at all, and the tenant if there are tenants; not needed"),
        ("## Entities", "a `###` heading for each: attributes, relationships, figures; has to be there", ("## Entity",)),
        ("## Access Patterns", "the three tables that follow; has to be there", ("## Patterns",)),
        ("### Reads", "a table of questions", ("### Read Patterns", "### Read")),
        ("### Writes", "a table of changes", ("### Write Patterns", "### Write")),
        ("### Deletes", "a table of what goes", ("### Delete Patterns", "### Delete")),
        ("## Item Collection Candidates", "what you expect to be read together; not needed", ("## Item Collections",)),
        ("## Decisions", "choices that the designer obeys, and those that people should know; not needed", ("## Decisions and Pins", "## Pins")),
        ("## Notes", "anything else; not needed. Under `## Notes and Decisions` both may stand"),
    ),
    head=("Section", "What it holds"),
)  # fmt: skip

CONTEXT = GrammarTable(
    "Context",
    _rows_of_columns(
        tables.CONTEXT_LABELS,
        ("Teams", "a number"),
        ("Stage", "`prototype`, `development` or `production`"),
        ("Access patterns", "`stable`, `evolving` or `unknown`"),
        ("Analytics", "the share of analytical questions, `10%`"),
        ("Ad-hoc queries", "`Yes` or `No`"),
        ("GraphQL", "`Yes` or `No`"),
        ("Experience", "with DynamoDB: `none`, `some` or `good`"),
        ("Tenant", "the attribute whose value is the customer that everything belongs to"),
    ),
    head=("Label", "Answers"),
)

TENANT = GrammarTable(
    "Tenant",
    _rows(
        ("tenantId", "the items of all entities belong to a tenant, whose id is `tenantId`"),
        ("tenantId → Company", "the tenants are items of `Company`, and `tenantId` is its id", ("tenantId -> Company",)),
        ("tenantId, except Plan", "`Plan` belongs to no tenant: all of them read it"),
        ("tenantId → Company, except Plan and Country", "all of it", ("tenantId → Company, except Plan, Country",)),
    ),
    read_tenant,
)  # fmt: skip

ATTRIBUTES = GrammarTable(
    "Attributes",
    _rows(
        ("`email` (string)", "a text"),
        ("`userId` (uuid, generated)", "it identifies the item, and the application makes it up: no two writers meet"),
        ("`slug` (string, natural)", "it identifies the item, and two writers may choose the same"),
        ("`orderId` (ulid, id, → Order)", "it is part of the id, and holds an Order's id", ("`orderId` (ulid, id, -> Order)",)),
        ("`email` (string, unique) - for receipts", "no two items have the same; after the dash a text for people"),
        ("`status` (PENDING | SHIPPED, mutable)", "one of two values, and it changes"),
        ('`country` ("CH")', "always this value", ("`country` ('CH')",)),
        ("`tags` (set of string, optional)", "may be absent"),
        ("`price` (decimal, mutable)", "money: never a float"),
        ("`copyNumber` (integer, natural, max 9999)", "a number from 0 to 9999"),
        ("`degrees` (integer, min -50, max 50)", "a number from -50 to 50"),
        ("`expiresAt` (integer, ttl)", "DynamoDB removes the item after it"),
        ("`sellerId` (uuid, → User)", "holds a User's id, in the role of the seller"),
        ("`ownerName` (string, → User | Organization)", "holds the id of a User or of an Organization: these ids are one kind of value, and either may be read with what refers to it"),
        ("`teamId` (string, → Team.teamId)", "holds one part of an id that has several"),
        ("`authorName` (string, mutable, copy of User.name)", "repeats an attribute of another entity"),
        ("`unitPrice` (decimal, immutable, snapshot of Product.price)", "repeats it as it was then"),
        ("`authorName` (string, mutable, follows User.name)", "is kept equal to it: the client finds and updates all that repeat it"),
        ("`editorName` (string, mutable, follows User.name via editorId)", "the reference that leads to the other item, where there are several"),
        ("`sellerName` (string, mutable, follows User.name within 10 seconds)", "is kept equal by the table's stream, and may be as old as this", ("`sellerName` (string, mutable, follows User.name within 10 second)",)),
        ('`language` (string, mutable, default="en")', "what an item that was written without it has", ("`language` (string, mutable, default=en)",)),
        ("`displayName` (string, mutable, renamed from fullName)", "had another name in the design before"),
        ("`state` (OPEN | PAID renamed from DONE, mutable)", "a member of the enum had another name in the design before"),
        ("`body` (binary, 300 KB)", "how large it usually is", ("`body` (binary, ~300 KB)",)),
        ("`first name` (string)", "a name with a space: in backticks wherever it is used"),
    ),
    read_attribute,
)  # fmt: skip

TYPES = GrammarTable(
    "Types",
    _rows(
        ("string", "text"),
        ("number", "a whole number or a decimal one"),
        ("integer", "a whole number"),
        ("decimal", "a decimal number, exact"),
        ("boolean", "`true` or `false`"),
        ("binary", "bytes"),
        (
            "content",
            "bytes or text of any size, kept beside the item in parts; a `string` or `binary` of more than 400 KB is one",
        ),
        ("date", "a day"),
        ("datetime", "a moment"),
        ("uuid", "a UUID"),
        ("ulid", "a ULID: an id that sorts by the time it was made"),
        ("list", "values in an order"),
        ("list of string", "the same, of one type"),
        ("set", "strings, each once"),
        ("set of number", "the same, of strings, numbers or binaries"),
        ("map", "names with values"),
        ("PENDING | SHIPPED", "one of these; a member with a space stands in quotes"),
    ),
    _type,
    ("Type", "What it holds"),
)

FLAGS = GrammarTable(
    "Flags",
    _rows(
        ("id", "Part of what identifies an item; together the parts of the id are what the base key is made of. Plain `id` leaves open whether it is made up or chosen, which is right for an id held for another entity."),
        ("generated", "An id that the application makes up. The base key may be longer than it."),
        ("natural", "An id that people choose. It has to be the whole key or have a guard, because a longer key would let two items with the same id in."),
        ("→ Entity", "Which entities can stand in one partition. `userId` here and `authorId` there are the same value only if it is said.", ("-> Entity",)),
        ("mutable", "Never part of a base key; in an index a change costs two writes instead of one."),
        ("immutable", "May be part of any key. With neither it is not known: treated with care, as if it might change."),
        ("optional", "An index by it is sparse: only items that have it are in it."),
        ("required", "Always there, as is everything that is not `optional`."),
        ('default="en"', "Items that were written before the attribute came are read with this value. For text, numbers, booleans, dates and members of an enum; not for ids, unique attributes, and what the base key is made of.", ("default=en",)),
        ("unique", "A guard item, written in the same transaction. Never a read before the write."),
        ("ttl", "Expiry without a request. A number of seconds since 1970, or a datetime. What has expired is not found any more: nothing can ask for it. A table has one: no entity has a plain attribute of that name (PJ230)."),
        ("max 9999", "For numbers, in whole numbers; with `max` alone it begins at 0. Where items are sorted by an integer that is never negative, its keys are padded: `0042`. A write of a larger number is refused. Without a bound, keys sort as the numbers do, too, and look different: `B42`."),
        ("min 1", "For numbers: the smallest. Both bounds hold for objects, for values that are set, and for results of `+=` and `-=`: what is beyond them is refused, and nothing is written."),
        ("copy of User.name", "Somebody has to keep it right: each write to the original is checked for it."),
        ("snapshot of Product.price", "As it was then: the price when it was bought. Nobody updates it."),
        ("follows User.name", "Kept equal to the original. A reference finds the original, and a read finds all items that repeat it; writes that give the value have the condition `User.name = name`. After a change of the original, `refresh` updates the others."),
        ("follows User.name within 10 seconds", "The same from the table's stream, which the infrastructure has then: at most so old. Writes need no condition."),
        ("renamed from fullName", "`prejoin evolve` copies the values to the new name, and removes the old one at the end. It means nothing else, and may stay in the document."),
        ("2 KB", "A typical size: read and write units, what fits a page of 1 MB, and whether an item passes 400 KB."),
    ),
    _flag,
    ("Flag", "What follows from it"),
)  # fmt: skip

LABELS = GrammarTable(
    "Labels",
    _rows_of_columns(
        tables.ENTITY_LABELS,
        ("Description", "a sentence for people; the text below the heading is the same"),
        ("Attributes", "a list, one line each; or on one line, separated by commas"),
        ("Relationships", "a list, one line each"),
        ("Cardinality", "how many items there are"),
        ("Size", "of a typical item"),
        ("Retention", "how long an item is kept, whoever removes it"),
        *((line.grammar.label, line.grammar.meaning) for line in CONSTRUCTS),
        ("Unique", "attributes that are unique together: `tenantId + slug`"),
        ("Excludes", "entities that never stand beside this one under the same parent: `Guest`"),
        ("Owner", "the team that it belongs to"),
        ("Lifecycle", "what becomes of an item, for people"),
        (
            "Renamed from",
            "the name of the entity in the design before; it means nothing but to `prejoin evolve` and `design --keep`",
        ),
    ),
    head=("Label", "What it holds"),
)

RELATIONSHIPS = GrammarTable(
    "Relationships",
    _rows(
        ("User 1:N Order via userId", "a user has many orders; `userId` of the order holds the id", ("Order N:1 User via userId",)),
        ("User 1:1 Profile via userId", "and just one profile"),
        ("User N:N Group via Membership", "the entity Membership stands between them", ("User N:M Group via Membership", "User M:N Group via Membership")),
        ("Division 1:N Team via orgId + divisionId", "an id of two parts", ("Division 1:N Team via orgId, divisionId",)),
        ("Folder hierarchy via parentId", "folders in folders"),
        ("User 1:N Order via sellerId as seller - the one who ships", "a role, and a text", ("User 1:N Order via sellerId as seller – the one who ships", "User 1:N Order via sellerId as seller — the one who ships")),
    ),
    read_relationship,
)  # fmt: skip

CARDINALITY = GrammarTable(
    "Cardinality",
    _rows(
        ("~100 per User", "an estimate", ("100 per User", "about 100 per User", "around 100 per User", "~100 orders per User")),
        ("~0.8 per Policy", "an average"),
        ("1M total", "in all", ("1M in all", "1M in total", "1M overall", "1M globally")),
        ("~20 per User, 1M total", "both", ("~20 per User; 1M total",)),
        ("1K to 10K total", "a span", ("1K-10K total", "1K – 10K total", "1K — 10K total")),
        ("at most 100 per User", "a limit that the application upholds", ("max 100 per User", "maximum 100 per User", "up to 100 per User", "≤ 100 per User", "<= 100 per User")),
        ("unbounded per Device", "it grows as it is written, for as long as `Retention` says: a partition of over 10 GB is cut by time, if every read of it gives a start", ("unlimited per Device",)),
        ("singleton", "there is one item of it, and it has no id", ("one item",)),
    ),
    _cardinality,
)  # fmt: skip

COUNTS = GrammarTable(
    "Figures",
    _rows(
        ("10000", "a number of things", ("10,000", "10_000", "10K")),
        ("1.5M", "a million and a half"),
        ("2B", "two thousand millions"),
    ),
    read_count,
)

SIZE = GrammarTable(
    "Size",
    _rows(
        ("400 B", "a typical item", ("~400 B", "400 bytes")),
        ("2 KB", "2,048 bytes, as DynamoDB counts", ("2 KiB",)),
        ("1.5 MB", "more than an item can hold: parts, or object storage", ("1.5 MiB",)),
    ),
    read_size,
)

RETENTION = GrammarTable(
    "Retention",
    _rows(
        ("90 days", "an item expires or is deleted after that time", ("2160 hours",)),
        ("6 months", "a month has 30 days, a year 365", ("180 days",)),
        ("1 year", "365 days", ("365 days",)),
    ),
    read_retention,
)

LINES = tuple(
    GrammarTable(construct.grammar.label, _rows(*construct.grammar.examples), construct.read)
    for construct in CONSTRUCTS
)
"""The lines of constructs."""

READS = GrammarTable(
    "Columns of Reads",
    _rows_of_columns(
        tables.READS.columns,
        ("ID", "`AP-001`; has to be there"),
        ("Entity", "what is read, separated by commas; has to be there"),
        ("Name", "a short name, if you like: generated methods are called by it, and else by the description"),
        ("Description", "the question, for people"),
        ("Input Parameters", "what the caller knows"),
        ("Result", "what is given back; has to be there"),
        ("Sort", "in which order"),
        ("Paginated", "in pages, or all at once"),
        ("Frequency", "how often"),
        ("Consistency", "how fresh"),
        ("Multi-Entity", "how several entities are put together"),
    ),
    head=("Column", "What it holds"),
)

WRITES = GrammarTable(
    "Columns of Writes and Deletes",
    _rows_of_columns(
        (*tables.WRITES.columns, tables.ITEMS_DELETED),
        ("ID", "`AP-020`; has to be there"),
        ("Entity", "what is written, the main one first; has to be there"),
        ("Name", "a short name, as for reads"),
        ("Description", "the story, for people"),
        ("Input Parameters", "what the caller gives"),
        ("Items Written", "in Writes: what happens to each item; has to be there"),
        ("Items Deleted", "the same in Deletes"),
        ("Transaction", "all of it or nothing"),
        ("Conditions", "what must be true for it to happen"),
        ("Frequency", "how often"),
    ),
    head=("Column", "What it holds"),
)

INPUT_PARAMETERS = GrammarTable(
    "Input Parameters",
    _rows(
        ("userId", "equal to what the caller gives"),
        ("userId, status", "both", ("userId; status", "userId<br>status")),
        ("Order.userId", "of a read of several entities: whose attribute it is"),
        ("Order.placedAt / Payment.paidAt between", "of a read of several entities: one range over attributes of different names; also to sort by"),
        ("status?", "may be given: two questions in one"),
        ("orderId[]", "a list of ids: a batch"),
        ("status = PENDING", "a constant: the index may be sparse"),
        ('country = "New Zealand"', "a constant with a space, in quotes", ("country = 'New Zealand'",)),
        ("status in (PENDING, PAID)", "one of several constants", ("status in (PENDING | PAID)",)),
        ("createdAt between", "a range, both ends from the caller"),
        ("total between 10 and 20", "a range with constant ends"),
        ("createdAt >= 2024-01-01", "a range with one end", ("createdAt ≥ 2024-01-01",)),
        ("createdAt <=", "the same, and the caller gives the end; also with `<` and `>`", ("createdAt ≤",)),
        ("total < 5", "below"),
        ("total > -5", "above; a negative number", ("total > −5",)),
        ("createdAt last 7 days", "a range up to now; also `seconds`, `minutes`, `hours`, `weeks`, `months` of 30 days, `years` of 365", ("createdAt >= now - 7 days", "createdAt last 1 week")),
        ("expiresAt <= now + 12 hours", "a time from now"),
        ("title begins_with", "a prefix that the caller gives", ("title begins with", "title starts with")),
        ("assigneeId exists", "only items that have it: a sparse index"),
        ("assigneeId not exists", "only items without it: a sparse index, too"),
        ("filter assigneeId not exists", "the same, read and then left out"),
        ("filter category", "read and then left out, knowingly"),
        ("filter status = OPEN or priority = HIGH", "one of the two is enough: a filter, because no key answers both", ("status = OPEN or priority = HIGH", "filter status = OPEN or filter priority = HIGH")),
        ("userId, filter total > 100", "the same with a comparison"),
        ("filter paid < total", "two attributes of one item compared: always a filter, because no key does that"),
        ("filter tags contains", "a list or a set that has a value, or a text that has a part"),
        ("filter Comment.internal = false", "of a read of several entities: which items of one entity are left out; it may be optional, `filter Comment.internal?`"),
        ("filter category (keeps 5%)", "how much is left of what was read; also after a range, `createdAt between (keeps 1%)`"),
        ("filter status <> DONE", "any other value", ("filter status != DONE",)),
    ),
    read_inputs,
)  # fmt: skip

RESULT = GrammarTable(
    "Result",
    _rows(
        ("Single", "one item, or none"),
        ("Collection", "all of them, whole"),
        ("Collection (orderId, total)", "only these attributes: an index can be smaller"),
        ("Collection, limit 10", "the first ten", ("Collection limit 10",)),
        ("Count", "a number: a read of everything, or a counter"),
    ),
    read_result,
)

SORT = GrammarTable(
    "Sort",
    _rows(
        ("createdAt ASC", "oldest first", ("createdAt", "createdAt ascending")),
        ("createdAt DESC", "newest first", ("createdAt descending",)),
        ("status ASC, createdAt DESC", "by state, then by age", ("status, createdAt DESC",)),
        ("Order.placedAt / Payment.paidAt DESC", "of a read of several entities: one order of all of them"),
        ("Comment.createdAt ASC", "of a read of several entities: these are sorted", ("Comment by createdAt ASC",)),
    ),
    read_sort,
)

PAGINATED = GrammarTable(
    "Paginated",
    _rows(
        ("Yes", "in pages", ("true",)),
        ("Yes (20)", "of 20 items", ("Yes 20", "20")),
        ("No", "all at once: it must fit 1 MB", ("false",)),
    ),
    read_page,
)

FREQUENCY = GrammarTable(
    "Frequency",
    _rows(
        ("Hot", "more than 100 a second"),
        ("Warm", "1 to 100"),
        ("Cold", "less than one"),
        ("250/s", "a figure", ("~250/s", "250/sec", "250 per second", "250 a second")),
        ("100/min", "a minute", ("100 per minute",)),
        ("100/h", "an hour", ("100 per hour",)),
        ("2M/day", "a day", ("2M per day",)),
        ("40/month", "a month"),
        ("2M/day, peak 555/s", "on average, and when it is busiest", ("2M/day peak 555/s",)),
        ("400/s, hottest 5%", "and how much of it falls on one partition, whatever its key is"),
        ("400/s, hottest tenantId 5%", "and how much of it falls on one value of an attribute"),
        ("weight 3", "relative to the others, where nobody knows"),
    ),
    read_rate,
)

CONSISTENCY = GrammarTable(
    "Consistency",
    _rows(
        ("Eventual", "half the price, and all that an index can do", ("Eventually consistent",)),
        ("Strong", "sees every write before it: only from the base table", ("Strongly consistent",)),
        ("Transactional", "several items as of one moment"),
    ),
    read_consistency,
)

MULTI_ENTITY = GrammarTable(
    "Multi-Entity",
    _rows(
        ("No", "one entity"),
        ("Collection", "side by side under one id, one Query: a user and their orders"),
        ("Yes", "read as `Collection`, with a message that asks for it"),
        ("Join", "the first names the second: followers, each with their profile. No key serves that in one request; it is a second request, or a copy that someone keeps right"),
        ("Join via followerId", "the attribute that it follows, where several could be meant"),
    ),
    read_combine,
)  # fmt: skip

ITEMS_WRITTEN = GrammarTable(
    "Items Written",
    _rows(
        ("create Order", "a new item; refused where there is one"),
        ("create Invoice (status = OPEN, due = total)", "a new item with these values: constants, inputs, `now` and other attributes of it. An object with others is refused, but for `now`, which replaces what it has; optional ones it may lack"),
        ("put Session", "written whole, whether or not there was one; so there is no `+=` in a `put` or `create`. With the condition `Session not exists` it is a `create`"),
        ("update Order", "all inputs that are attributes of it and not its id; not an immutable reference to another item that the row writes"),
        ("update Order (status)", "`status` is set to the input of that name"),
        ("update Order (note?)", "only if the input `note` is given; None removes it. The same as the input `note?`"),
        ("update Order (status = SHIPPED)", "to a constant"),
        ("update Session (seenAt = now)", "to the time"),
        ("update Product (stock -= quantity)", "less by an input, which is more than 0", ("update Product (stock -= :quantity)",)),
        ("update User (orderCount += 1)", "a counter"),
        ("update Order (status, note = seen)", "two changes", ("update Order (status; note = seen)",)),
        ("upsert OrderCount (orders += 1)", "changed, or created if it is not there: `+=` begins at 0. It sets all attributes that are neither optional nor have a default, immutable ones too"),
        ("update User by followedId (followerCount += 1)", "of two users, the one whose id is in that input"),
        ("update Tally by tenantId + oldStatus (tickets -= 1)", "an id of two parts, one input for each, in the order of the id"),
        ("update Post (remove draftNote)", "gone from the item"),
        ("update Post (append tags)", "the input of that name is put at the end of a list, or into a set"),
        ("update Post (append tags = tag)", "the same with another input, or a constant"),
        ("update Comment[] (authorName)", "each comment that belongs to an item which the row names, by a reference to one of the inputs; or those that the caller gives"),
        ("delete Transfer[] by fromAccountId", "those whose `fromAccountId` is the input; for a list whose items refer to the same entity in two ways"),
        ("delete Slot[]; create Slot[]", "the old ones, which belong to the item that the row names, and the new ones, which the caller gives"),
        ("delete Order", "gone"),
        ("expire Session", "removed by DynamoDB when its `ttl` has passed; nobody asks for it"),
        ("create Order; create OrderItem[]", "an item, and several", ("create Order, create OrderItem[]", "create Order + create OrderItem[]", "create Order<br>create OrderItem[]")),
    ),
    lambda text: read_actions(text, INPUTS),
)  # fmt: skip

TRANSACTION = GrammarTable(
    "Transaction",
    _rows(
        ("Yes", "all of it or nothing: twice the write units, at most 100 items of 4 MB", ("true",)),
        ("No", "item by item: a crash may leave some", ("false",)),
    ),
    read_yes_no,
)

CONDITIONS = GrammarTable(
    "Conditions",
    _rows(
        ("User exists", "that item is there", ("User must exist",)),
        ("Order not exists", "that one is not, also of an item that is not written: `Ban not exists`", ("Order must not exist", "Order does not exist")),
        ("exists", "the item of the pattern's first entity is there", ("must exist",)),
        ("not exists", "it is not"),
        ("Ticket.assigneeId exists", "the item has that attribute"),
        ("Ticket.assigneeId not exists", "it has not"),
        ("email unique", "nobody else has it", ("unique email", "email is unique", "email must be unique")),
        ("username and email unique", "neither of them", ("username and email are unique", "username and email both unique")),
        ("Product.stock >= quantity", "compared with an input", ("Product.stock >= :quantity",)),
        ("Van.region = region", "whose `region` the input is, where several have one"),
        ("fromAccountId.balance >= amount", "of two accounts, the one whose id is in that input; `Account.balance >= amount` is about each of them"),
        ("amount > 0", "compared before anything is sent, if `amount` is an input and no attribute"),
        ("status = PENDING", "compared with a constant", ("status must be PENDING",)),
        ("status <> DONE", "not that one", ("status != DONE",)),
        ("total between 1 and 5", "within"),
        ("title begins_with draft", "a prefix"),
        ("tags contains urgent", "a list or a set that has a value, or a text that has a part"),
        ("Order.status in (PENDING, PAID)", "one of several"),
        ("expiresAt > now", "compared with the time"),
        ("paid < total", "compared with another attribute of the same item; if an input has its name, `paid < Invoice.total`"),
        ("status = FREE or heldUntil < now", "one of the two is enough"),
        ("not (status = SOLD)", "the opposite"),
        ("status = FREE or (status = HELD and heldUntil < now)", "`and` binds tighter than `or`, also without the parentheses", ("status = FREE or status = HELD and heldUntil < now",)),
        ("Lock not exists or expiresAt < now", "of a `put`: there is none, or it is too old"),
        ("User exists; Team exists", "both", ("User exists, Team exists", "User exists and Team exists", "User exists<br>Team exists")),
    ),
    lambda text: read_checks(text, INPUTS),
)  # fmt: skip

COLLECTIONS = GrammarTable(
    "Columns of Item Collection Candidates",
    _rows_of_columns(
        tables.COLLECTIONS.columns,
        ("Group", "a name for it; has to be there"),
        ("Entities", "those that are fetched together; has to be there"),
        ("Access Patterns", "the IDs of the reads"),
        ("Rationale", "why"),
    ),
    head=("Column", "What it holds"),
)

DECISIONS = GrammarTable(
    "Decisions",
    _rows(
        ("Order lives under User", "in the user's item collection", ("Order live under their User", "Order lives under its User", "Order lives under the User", "Order lives under a User", "Order lives under an User")),
        ("at most 2 GSIs", "a limit on indexes", ("at most two GSIs",)),
        ("at most 1 copy", "a limit on copies", ("at most one copies",)),
        ("at most 3 structures", "a limit on indexes and copies together", ("at most three structures",)),
        ("at most 4 shards", "a limit on what a partition is cut into", ("at most four shards",)),
        ("at most 5 GSIs", "numbers up to five may be words", ("at most five GSIs",)),
        ("no copies", "none at all; also `no GSIs`, `no structures`, `no shards`, `no buckets`", ("at most 0 copies",)),
        ("no shards for Order", "none for one entity; also `GSIs`, `copies`, `structures`, `buckets`", ("no shards of Order",)),
        ("no buckets", "no partition is cut by time"),
        ("Sample in buckets of a day", "a partition for each day; also `an hour`, `a month`, `a year`. Reads have to say from when on"),
        ("Sample in buckets of an hour", "a partition for each hour"),
        ("Sample in buckets of a month", "a partition for each month"),
        ("Sample in buckets of a year", "a partition for each year"),
        ("Order in 8 shards", "a partition of many orders is cut into that many"),
        ("Page.views in 4 shards", "a number is added to in one of that many items, and read as their sum; `no shards for Page` refuses it"),
        ("Document.body in a store", "a large content is in an object store such as S3, and not in the table", ("Document.body in an object store",)),
        ("Document.body in parts", "a large content is in parts beside its item: the default, unless money is minimised"),
        ("Order has key `USER#{userId}` and `ORDER#{orderId}`", "that key is in production, or wanted so"),
        ("Order has key `STATUS#{status}` and `{placedAt}` in gsi1", "the same in an index, which is made if there is none of that name"),
        ("User has key `{email}` in emailIndex", "in an index without a sort key, which holds only keys that are decided"),
        ("minimise money", "before the number of structures", ("minimize money",)),
        ("minimise structures", "before money: the default", ("minimize structures",)),
        ("natural index keys", "indexes by attributes as they are, up to four for each side, wherever that serves the same reads"),
        ("composite index keys", "indexes by texts, `STATUS#{status}`, even where attributes as they are would be better"),
        ("AP-007 may filter", "more is read than is given back", ("AP-007 may use a filter",)),
        ("AP-007 may read several pages", "more than 1 MB is read in a call: a large result, or a count"),
        ("AP-007 may use a scan", "no key has to serve it", ("AP-007 may scan",)),
        ("AP-007 may use a second request", "one request finds what the next one gets", ("AP-007 may take a second request",)),
        ("AP-030 is out of scope", "recorded, and answered by something else"),
        ("AP-012 unproven", "built even if the proof cannot run it, and marked as not proven; a wrong result stays an error", ("AP-012 may be unproven",)),
        ("Payment needs its own restore", "restored by itself, which a table is only as a whole; also `stream`, `replication`, `authorisation`: see `prejoin split`"),
        ("Payment needs its own authorisation", "credentials of its own", ("Payment needs its own authorization",)),
        ("Payment needs its own replication", "replicas of its own"),
        ("Payment and Refund need their own stream and restore", "both in one other table", ("Payment, Refund need their own stream, restore",)),
        ("the table is named `shop`", "the name of the table"),
        ("the partition key is named `PK`", "the attribute that holds it"),
        ("the sort key is named `SK`", "the attribute that holds it"),
        ("the type attribute is named `kind`", "the attribute that says what an item is"),
        ("the separator is named `|`", "what stands between the parts of a key"),
    ),
    _decision,
)  # fmt: skip

TABLES: tuple[GrammarTable, ...] = (
    SECTIONS,
    CONTEXT,
    TENANT,
    LABELS,
    ATTRIBUTES,
    TYPES,
    FLAGS,
    RELATIONSHIPS,
    CARDINALITY,
    COUNTS,
    SIZE,
    RETENTION,
    *LINES,
    READS,
    INPUT_PARAMETERS,
    RESULT,
    SORT,
    PAGINATED,
    FREQUENCY,
    CONSISTENCY,
    MULTI_ENTITY,
    WRITES,
    ITEMS_WRITTEN,
    TRANSACTION,
    CONDITIONS,
    COLLECTIONS,
    DECISIONS,
)


def as_markdown(table: GrammarTable) -> str:
    """A table as the guide shows it.

    >>> print(as_markdown(GrammarTable("Sort", (GrammarRow("a", "by a", ("a ASC",)),))))
    | You write | It means |
    | --- | --- |
    | `a` | by a; also `a ASC` |
    """
    rows: Iterable[Iterable[str]] = (map(escape_cell, (_code(r.example), _meaning(r))) for r in table.rows)
    return "\n".join([write_row(table.head), write_row("---" for _ in table.head), *map(write_row, rows)])


def _meaning(row: GrammarRow) -> str:
    synonyms = f"also {', '.join(map(_code, row.also))}"
    if not row.also:
        return row.meaning
    return (
        f"{row.meaning} {synonyms[0].upper()}{synonyms[1:]}."
        if row.meaning.endswith(".")
        else f"{row.meaning}; {synonyms}"
    )


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
