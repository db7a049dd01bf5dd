"""The messages about a workload and its document: 1xx how it is written, 2xx names and types, 3xx what is missing, 4xx what
people forget. The explanations are what `prejoin explain` shows."""

from __future__ import annotations

from inspect import cleandoc

from prejoin.diagnostics import Code, Severity


def _error(id_: str, title: str, explanation: str) -> Code:
    return Code(id_, Severity.ERROR, title, cleandoc(explanation))


def _warning(id_: str, title: str, explanation: str) -> Code:
    return Code(id_, Severity.WARNING, title, cleandoc(explanation))


def _hint(id_: str, title: str, explanation: str) -> Code:
    return Code(id_, Severity.HINT, title, cleandoc(explanation))


# --- 1xx: how the document is written -------------------------------------------------------------------------------

UNREADABLE = _error(
    "PJ100",
    "The file cannot be read",
    """
    An access-pattern document is UTF-8 text of at most 2 MB: Markdown (.md), YAML (.yaml, .yml) or JSON (.json).
    Save it as UTF-8, or split an application that large into the services it consists of.
""",
)
NO_TITLE = _warning(
    "PJ101",
    "The document has no title",
    """
    The first heading names the application: `# Shop`. It becomes the default name of the table.
""",
)
STATUS = _warning(
    "PJ102",
    "The status is not one of the three",
    """
    The line `> Status: DRAFT` below the title says how far the document is: `DRAFT`, `REVIEWED` or `APPROVED`.
""",
)
HEADING = _warning(
    "PJ103",
    "A heading is close to one that means something",
    """
    The sections that are read are Domain Overview, Context, Entities, Access Patterns (with Reads, Writes and Deletes below
    it), Item Collection Candidates, Decisions and Notes. Any other section is yours: it is kept as it is, and nothing in it
    is read. This one looks like a slip of the pen.
""",
)
NO_SECTION = _error(
    "PJ104",
    "A section that everything rests on is missing",
    """
    Without entities and access patterns there is nothing to design. `prejoin init` writes a document with all the
    sections to start from; `prejoin interview` asks for what goes into them.
""",
)
NO_COLUMN = _error(
    "PJ105",
    "A table of patterns lacks a column",
    """
    Reads have the columns ID, Entity, Description, Input Parameters, Result, Sort, Paginated, Frequency, Consistency and
    Multi-Entity; Writes and Deletes have ID, Entity, Description, Input Parameters, Items Written (Items Deleted),
    Transaction, Conditions and Frequency. Of these, ID, Entity and the one that says what happens (Result, or Items …)
    must be there.
""",
)
TOO_MANY_CELLS = _error(
    "PJ106",
    "A row has more cells than its table has columns",
    """
    Usually a `|` inside a cell. In a table it is written `\\|`. What is too much is kept in a column `Overflow`.
""",
)
COLUMN = _warning(
    "PJ107",
    "A column is close to one that means something",
    """
    Columns of your own are kept and not read. This one looks like a slip of the pen.
""",
)
LABEL = _warning(
    "PJ108",
    "A label is close to one that means something",
    """
    Below an entity the labels Description, Attributes, Relationships, Cardinality, Size, Unique, Excludes, Owner and
    Lifecycle are read; below Context: Teams, Stage, Access patterns, Analytics, Ad-hoc queries, GraphQL and Experience. Others
    are kept and not read. This one looks like a slip of the pen.
""",
)
STRAY_PATTERNS = _error(
    "PJ109",
    "A table of patterns is not below Reads, Writes or Deletes",
    """
    Which of the three headings a table stands under says what kind of patterns it holds. Put `### Reads`, `### Writes` or
    `### Deletes` above it.
""",
)
ATTRIBUTE = _error(
    "PJ110",
    "An attribute line is not exact",
    """
    One line an attribute: its name, in parentheses its type and flags, then a dash and a text for people.

        - `userId` (uuid, id)
        - `email` (string, unique) - where the receipts go
        - `status` (PENDING | SHIPPED, mutable)
        - `ownerId` (uuid, → User)

    Types: string, number, integer, decimal, boolean, binary, date, datetime, uuid, ulid, list, map, set, `list of T`,
    `set of T`, or the members of an enum. Flags: id, generated, natural, optional, mutable, immutable, unique, ttl,
    `→ Entity`, `copy of Entity.attribute`, a size.
""",
)
RELATIONSHIP = _warning(
    "PJ111",
    "A relationship is not exact",
    """
    Which attribute holds whose id decides what can be read together. Write `User 1:N Order via userId`,
    `User N:N Group via Membership`, `User 1:1 Profile`, `Folder hierarchy via parentId`; after a dash comes text for people.
    A reference on the attribute, `userId (uuid, → User)`, says the same in one place.
""",
)
QUANTITY = _warning(
    "PJ112",
    "A figure is not exact",
    """
    Cardinality, sizes and shares decide about money and hot partitions. Write `~100 per User, 1M total`, `at most 100 per
    User`, `unbounded per User`, `singleton`; sizes as `400 B` or `2 KB`; shares as `10%`. Without a figure a default is assumed, and
    said so.
""",
)
WORDING = _warning(
    "PJ113",
    "A line is not exact",
    """
    This label takes one of a few forms, which the message names. The line is kept, and not acted on.
""",
)
INPUTS = _error(
    "PJ120",
    "The inputs are not exact",
    """
    What the caller knows when asking, as attributes separated by commas:

        userId                        is equal to what the caller gives
        status?                       may be given
        orderId[]                     a list of values
        status = PENDING              a constant
        createdAt between             a range; also < <= > >= begins_with
        createdAt last 7 days         a range up to now
        filter category               what is read and then left out, knowingly

    `-` stands for none: the question is about all there are.
""",
)
RESULT = _error(
    "PJ121",
    "The result is not exact",
    """
    `Single` (one item or none), `Collection` or `Count`. In parentheses the attributes that are needed, if not all; after a
    comma a limit: `Collection (orderId, total), limit 20`.
""",
)
SORT = _error(
    "PJ122",
    "The sort order is not exact",
    """
    An attribute and a direction: `createdAt DESC`. The order has to be in the sort key, so "newest first" is not enough: it has
    to be known by which attribute. `-` stands for any order.
""",
)
PAGE = _warning(
    "PJ123",
    "Whether there are pages is not exact",
    """
    `Yes`, `No`, or the items to a page: `Yes (20)`.
""",
)
RATE = _warning(
    "PJ124",
    "The frequency is not exact",
    """
    `Hot` (more than 100 a second), `Warm` (1 to 100), `Cold` (less than 1), or a figure: `250/s`, `2M/day peak 555/s`. `hottest
    5%` adds how much of it falls on the busiest key; `weight 3` is relative to the other patterns.
""",
)
CONSISTENCY = _warning(
    "PJ125",
    "The consistency is not exact",
    """
    `Eventual` (the default, half the price, and the only one an index has), `Strong` or `Transactional`.
""",
)
COMBINE = _error(
    "PJ126",
    "Whether several entities are read is not exact",
    """
    `No`; `Collection` where the entities are read side by side under one id (a user and their orders: one Query); `Join` where the
    first names the second (followers, each with their profile: no key serves that in one request).
""",
)
COMBINE_HOW = _hint(
    "PJ127",
    "Several entities: it is not said how",
    """
    `Yes` is read as `Collection`: they share an id and are read side by side. Where one names the other (followers with their
    profiles) write `Join`.
""",
)
ACTIONS = _error(
    "PJ130",
    "The items written are not exact",
    """
    What happens to each item, separated by semicolons:

        create Order; create OrderItem[]
        update Product (stock -= quantity); update User (orderCount += 1)
        put Session
        delete Order

    `create` refuses to overwrite, `put` replaces, `update` needs the item to exist, `[]` stands for several. In
    parentheses the attributes that change: `status`, `status = SHIPPED`, `stock -= quantity`, `remove note`, `append tags`.
""",
)
TRANSACTION = _warning(
    "PJ131",
    "Whether it is a transaction is not exact",
    """
    `Yes`: all of it happens or none of it. `No`: each item for itself. A transaction has at most 100 items, of 4 MB together.
""",
)
CONDITIONS = _error(
    "PJ132",
    "A condition is not exact",
    """
    What must be true for the write to happen, separated by semicolons: `User exists`, `Order not exists`, `email unique`,
    `Product.stock >= quantity`, `status = PENDING`, `expiresAt > now`. A word that is one of the inputs stands for it; anything else
    is a constant, and quotes make it one for sure. A rule that no single item can decide ("at most 100 songs") needs a counter:
    `update User (songCount += 1)` with the condition `User.songCount < 100`.
""",
)
DECISION = _hint(
    "PJ133",
    "A decision is kept as a note, and not obeyed",
    """
    The designer obeys decisions of these forms; everything else is a note to people.

        Order lives under User
        at most 2 GSIs                       no copies; no shards for Order
        Order has key `USER#{userId}` and `ORDER#{orderId}`
        minimise money                       (or structures)
        AP-007 may filter                    (or use a scan, use a second request)
        AP-030 is out of scope
        the partition key is named `PK`      (sort key, type attribute, table, separator)
""",
)
DATA = _error(
    "PJ140",
    "The YAML or JSON is not a workload",
    """
    The same model as the Markdown document, checked against the published JSON Schema (`prejoin schema`). The
    message names the place and what was expected there. `prejoin convert` turns a Markdown document into YAML or JSON to see
    what one looks like.
""",
)

# --- 2xx: names and types -------------------------------------------------------------------------------------------

UNKNOWN_ENTITY = _error(
    "PJ201",
    "There is no such entity",
    """
    Patterns, references and decisions name entities exactly as their headings do.
""",
)
UNKNOWN_ATTRIBUTE = _error(
    "PJ202",
    "There is no such attribute",
    """
    Inputs, sorts and changes name attributes of the pattern's entities. Where several entities have different names for
    the same thing (`userId` here, `authorId` there), a reference says so: `authorId (uuid, → User)`. A prefix is not an attribute of its
    own: write `title begins_with`, not `titlePrefix`.
""",
)
SAME_ENTITY = _error(
    "PJ203",
    "Two entities have the same name",
    """
    An entity is known by its name, in keys and in code. Names that differ only in case count as the same.
""",
)
SAME_ATTRIBUTE = _error(
    "PJ204",
    "An entity has two attributes of the same name",
    """
    DynamoDB's attribute names are case-sensitive, people are not: names that differ only in case count as the same.
""",
)
SAME_PATTERN = _error(
    "PJ205",
    "Two patterns have the same ID",
    """
    Designs, code and tests refer to a pattern by its ID. Give the second one an ID that is free, and never reuse one.
""",
)
UNKNOWN_PATTERN = _error(
    "PJ206",
    "There is no such pattern",
    """
    Decisions and item collections name patterns by their ID, as the tables do.
""",
)
CONSTANT = _error(
    "PJ207",
    "A constant does not fit its attribute",
    """
    A constant is read by the type of the attribute it is compared with: a member of the enum, a number, `true` or `false`, an ISO
    date.
""",
)
UNFIT_TYPE = _error(
    "PJ208",
    "The type does not allow that",
    """
    Only strings, numbers, dates and the like can be ordered, compared and part of an id; `begins_with` is for strings; a TTL is a
    number (seconds since 1970) or a datetime; a counter is a number; `append` is for lists and sets.
""",
)
REFERENCE_TYPE = _warning(
    "PJ209",
    "A reference has another type than the id it holds",
    """
    `userId (string, → User)` where User's id is a number never matches. Give both the same type.
""",
)
NO_ID = _error(
    "PJ210",
    "An entity has no id",
    """
    Mark what identifies an item: `userId (uuid, id)`. Several attributes can do so together. `natural` instead of `id` says that
    two writers may choose the same value (an e-mail address), `generated` that they never do (a ULID). Of an entity that has one item
    only, say `Cardinality: singleton`.
""",
)
REFERENCE_ID = _error(
    "PJ211",
    "A reference does not say which attribute",
    """
    The entity is identified by several attributes; name the one that is meant: `→ Order.orderId`.
""",
)
CONTRADICTION = _error(
    "PJ212",
    "Two statements contradict each other",
    """
    For example a `Single` that is sorted, a `Count` that needs attributes, an id that is optional, an attribute that is given twice, or
    a key that is both frozen and forbidden.
""",
)
UNUSED_INPUT = _warning(
    "PJ213",
    "An input is neither an attribute nor used",
    """
    An input of a write is an attribute of the items it writes, or is used by name in a change or a condition: `stock -=
    quantity`. `newStatus` for `status` is written `status`.
""",
)
CHANGED_ID = _error(
    "PJ214",
    "An update changes what identifies the item",
    """
    The id is in the key, and a key cannot change: it is a delete and a create, in one transaction.
""",
)
IMMUTABLE = _error(
    "PJ215",
    "An update changes an attribute that is marked immutable",
    """
    Keys rely on it. Take away `immutable`, or the change.
""",
)
NOT_MARKED_MUTABLE = _warning(
    "PJ216",
    "An update changes an attribute that is not marked mutable",
    """
    What changes must not be in a base key. Mark it: `status (PENDING | SHIPPED, mutable)`.
""",
)
UNLIKELY_NAME = _warning(
    "PJ217",
    "A name is hard to use",
    """
    An attribute name in DynamoDB has at most 64 KB, one in an index 255 bytes; names of entities become prefixes in keys and
    classes in code, and are best plain words.
""",
)

# --- 3xx: what is missing -------------------------------------------------------------------------------------------

NO_PATTERN_ID = _error(
    "PJ301",
    "A pattern has no ID",
    """
    IDs are stable: everything made from the document refers to them. Number from AP-001 and never reuse a number.
""",
)
NO_INPUTS = _warning(
    "PJ302",
    "A pattern does not say what it is given",
    """
    An empty cell is not the same as none: write `-` where the question is about all there are, and the inputs otherwise.
""",
)
NO_RESULT = _error(
    "PJ303",
    "A read does not say what it gives back",
    """
    `Single`, `Collection` or `Count`: they are different requests.
""",
)
NOT_MARKED = _error(
    "PJ304",
    "A read of several entities is not marked as one",
    """
    Reads of several entities decide which of them share a partition: the most important fact in the document. Write
    `Collection` or `Join` in the column Multi-Entity, or name one entity.
""",
)
ONE_ENTITY = _error(
    "PJ305",
    "A read is marked as of several entities, and names one",
    """
    Name all of them in the column Entity, `User, Order`; or write `No` in the column Multi-Entity.
""",
)
NOT_ATOMIC = _warning(
    "PJ306",
    "A write of several items does not say whether it is atomic",
    """
    Must they succeed or fail together? `Yes` makes it a transaction (twice the write units, all or nothing), `No` lets a crash leave
    some of them written.
""",
)
NO_ACTIONS = _error(
    "PJ307",
    "A write does not say what it writes",
    """
    `create Order; update User (orderCount += 1)`: which items, and what happens to each.
""",
)
NO_RATE = _hint(
    "PJ308",
    "A pattern does not say how often",
    """
    Frequencies decide what is worth an index, and where a partition gets hot. Without one, `Warm` (10/s) is assumed.
""",
)
NO_CARDINALITY = _hint(
    "PJ309",
    "An entity does not say how many there are",
    """
    `~100 per User, 1M total`: it decides about pages, sizes and hot partitions.
""",
)
NO_ATTRIBUTES = _error(
    "PJ310",
    "An entity has no attributes",
    """
    List them below `- **Attributes**:`, one a line.
""",
)
NEVER_READ = _warning(
    "PJ311",
    "An entity is never read",
    """
    Nothing asks for it, so no key is made for it beyond its id. A pattern is missing, or the entity is not needed.
""",
)
NEVER_CREATED = _hint(
    "PJ312",
    "An entity is never created",
    """
    No pattern creates or puts it. If it comes from elsewhere (an import, a stream), say so in the notes; otherwise the write that
    makes it, and the copies it must update, are missing.
""",
)
NOT_RELATED = _error(
    "PJ313",
    "The entities of a read have nothing in common",
    """
    Entities can be read together when each has the id that is asked by: the same attribute, or one that refers to it
    (`authorId (uuid, → User)`). Without that they are two questions.
""",
)
UNBOUNDED = _hint(
    "PJ314",
    "A list that may be long has no pages and no limit",
    """
    A Query gives at most 1 MB at a time. Say `Yes` under Paginated, add a `limit`, or say by the cardinality that it is short.
""",
)
CANNOT_ADDRESS = _warning(
    "PJ315",
    "A write does not know the id of what it changes",
    """
    Without the id the item must be found first: a read that costs and may be stale. Add the id to the inputs, or write that read down
    as a pattern of its own.
""",
)
NO_ENTITY = _error(
    "PJ316",
    "A pattern names no entity",
    """
    The column Entity says what is read or written: `Order`, or `User, Order`.
""",
)

# --- 4xx: what people forget ----------------------------------------------------------------------------------------

LIST_ALL = _hint(
    "PJ401",
    "Nothing lists all of an entity",
    """
    Sooner or later someone wants all of them, for an admin page or a job. In DynamoDB that is a scan, unless there is a key for it.
    If it is needed, write it down: inputs `-`, result `Collection`, paginated. If not, nothing needs to be done.
""",
)
OTHER_SIDE = _hint(
    "PJ402",
    "Nothing looks from the other side",
    """
    A relationship is asked from one side only: the groups of a user, but not the users of a group; or a unique attribute is never
    used to find its item. If that question is never asked, all is well.
""",
)
COUNTS = _hint(
    "PJ403",
    "Nothing counts",
    """
    DynamoDB does not count for you: a count is a read of everything, or a counter kept by the writes (`update User (orderCount += 1)`). If
    a number of these is shown anywhere, write it down.
""",
)
ADMIN = _hint(
    "PJ404",
    "No pattern is an operator's",
    """
    People forget the questions of the back office: search, moderation, exports, audit, bulk import. What is analytical belongs
    elsewhere (streams into a warehouse): say so under Decisions, `AP-030 is out of scope`.
""",
)
EXPIRY = _hint(
    "PJ405",
    "Something grows for ever",
    """
    Items are created and neither deleted nor expire. If old ones may go, a `ttl` attribute removes them at no cost; if they are to be
    kept, all is well.
""",
)
LIFECYCLE = _hint(
    "PJ406",
    "Something has a state and no pattern by that state",
    """
    An entity has a status that changes, and nothing asks for those in one state ("pending orders"). Work queues and admin pages often do.
""",
)
