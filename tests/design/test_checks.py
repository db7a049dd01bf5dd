"""Each message about a design: a mistake made in a sound one, and what is said. All codes are here."""

from __future__ import annotations

import json
from functools import cache

import pytest
from tests.shop import shop_design, shop_workload
from tests.solutions import solve

from prejoin.design import codes, files
from prejoin.design.checks import check_design, fit
from prejoin.design.checks.fit import FitVerdict
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic, Severity, Span
from prejoin.workload.data_tree import read_tree
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

DOCUMENT = """\
# Library

> Status: DRAFT

## Context

- **Teams**: 1
- **Access patterns**: stable

## Entities

### Member

- **Attributes**:
  - `memberId` (uuid, generated)
  - `email` (string, unique)
  - `fullName` (string, mutable)
  - `joinedAt` (datetime, immutable)
  - `loanCount` (integer, mutable)
- **Cardinality**: ~2K total

### Loan

- **Attributes**:
  - `loanId` (ulid, generated)
  - `memberId` (uuid, immutable, → Member)
  - `branchId` (string, immutable)
  - `book` (string, immutable)
  - `dueOn` (date, immutable)
  - `loanState` (OUT | BACK, mutable)
- **Cardinality**: ~5 per Member, ~10K total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Member | one | memberId | Single | - | No | Warm | Strong | No |
| AP-002 | Member | sign in | email | Single | - | No | Warm | Eventual | No |
| AP-003 | Loan | by due date | memberId | Collection | dueOn ASC | Yes (20) | Warm | Eventual | No |
| AP-004 | Member, Loan | account | memberId | Collection | - | Yes (50) | Warm | Eventual | Collection |
| AP-005 | Loan | of a branch | branchId, dueOn < | Collection | dueOn ASC | Yes (20) | Warm | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Member | join | Member | create Member | Yes | email unique | Cold |
| AP-011 | Loan, Member | lend | Loan | create Loan; update Member (loanCount += 1) | Yes | - | Warm |
| AP-012 | Loan | back | memberId, dueOn, loanId, loanState | update Loan (loanState) | No | - | Warm |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Loan | forget | memberId, dueOn, loanId | delete Loan | No | - | Cold |

## Decisions

- Members and loans are in one table.
"""

KEYS = """\
table: library
slots:
  - {name: table, pk: [{name: pk}], sk: [{name: sk}]}
  - {name: gsi1, pk: [{name: gsi1pk}], sk: [{name: gsi1sk}]}
items:
  - entity: Member
    tag: Member
    facets:
      - {slot: table, pk: ["MEMBER#{memberId}"], sk: ["MEMBER"]}
      - {slot: gsi1, pk: ["EMAIL#{email}"], sk: ["MEMBER"]}
  - entity: Loan
    tag: Loan
    facets:
      - {slot: table, pk: ["MEMBER#{memberId}"], sk: ["LOAN#{dueOn}#{loanId}"]}
      - {slot: gsi1, pk: ["BRANCH#{branchId}"], sk: ["{dueOn}#{loanId}"]}
guards:
  - {entity: Member, attributes: [email]}
"""

LOAN = 'sk: ["LOAN#{dueOn}#{loanId}"]'
BRANCH = '{slot: gsi1, pk: ["BRANCH#{branchId}"], sk: ["{dueOn}#{loanId}"]}'
GSI1 = "  - {name: gsi1, pk: [{name: gsi1pk}], sk: [{name: gsi1sk}]}\n"
GUARDS = "guards:\n  - {entity: Member, attributes: [email]}\n"
COPY = """\
  - entity: Loan
    tag: Loan.by-book
    copy: by-book
    facets:
      - {slot: table, pk: ["BOOK#{book}"], sk: ["LOAN#{dueOn}#{loanId}"]}
"""
BY_BOOK = "| AP-006 | Loan | of a book | book | Collection | - | Yes (20) | Warm | Eventual | No |\n"
RAW = (GUARDS, GUARDS + "rawKeys: true\n")
SHARDED = ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{loanId:shard(20)}")),)
BY_MONTH = ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{dueOn:month}")),)
Edits = tuple[tuple[str, str], ...]


def decides(sentence: str) -> tuple[str, str]:
    before = "- Members and loans are in one table.\n"
    return before, f"{before}- {sentence}\n"


def member(attribute: str) -> tuple[str, str]:
    line = "  - `loanCount` (integer, mutable)\n"
    return line, f"{line}  - {attribute}\n"


def loan(attribute: str) -> tuple[str, str]:
    line = "  - `loanState` (OUT | BACK, mutable)\n"
    return line, f"{line}  - {attribute}\n"


def read(row: str) -> tuple[str, str]:
    before = "\n### Writes"
    return before, f"{row}{before}" if row.endswith("\n") else f"{row}\n{before}"


def write(row: str) -> tuple[str, str]:
    before = "\n### Deletes"
    return before, f"{row}\n{before}"


def written(operation: str) -> tuple[str, str]:
    """The design with an operation that its author wrote down."""
    return GUARDS, f"{GUARDS}operations:\n  - {operation}\n"


def naming(count: int) -> Edits:
    """An index whose projection names so many attributes."""
    names = ", ".join(f"a{number}" for number in range(count))
    return ((GSI1, GSI1.replace("]}\n", f"], projection: {{kind: INCLUDE, attributes: [{names}]}}}}\n")),)


def index(name: str, entity: str, pk: str, sk: str, more: str = "") -> Edits:
    """A further index with one entity in it."""
    slot = f"  - {{name: {name}, pk: [{{name: {name}pk}}], sk: [{{name: {name}sk}}]{more}}}\n"
    last = {"Member": EMAIL, "Loan": f"      - {BRANCH}\n"}[entity]
    return (GSI1, GSI1 + slot), (last, f'{last}      - {{slot: {name}, pk: ["{pk}"], sk: ["{sk}"]}}\n')


LISTED = "| by due date | memberId | Collection | dueOn ASC"
PAGES = "Yes (20) | Warm | Eventual | No |\n"
UNSORTED = (f"Collection | dueOn ASC | {PAGES}\n", f"Collection | - | {PAGES}\n")
ACCOUNT = "| AP-004 | Member, Loan | account | memberId | Collection | - | Yes (50) | Warm | Eventual | Collection |\n"
LENDERS = (
    "| AP-003 | Loan, Member | lenders | branchId | Collection | dueOn ASC | Yes (20) | Warm | Eventual | Join |\n"
)
SIGN_IN = "| sign in | email | Single | - | No | Warm |"
EMAIL = '      - {slot: gsi1, pk: ["EMAIL#{email}"], sk: ["MEMBER"]}\n'
MANY = tuple(edit for number in range(2, 8) for edit in index(f"gsi{number}", "Member", "M#{memberId}", f"M{number}"))
LOTS = tuple(edit for number in range(2, 23) for edit in index(f"gsi{number}", "Member", "M#{memberId}", f"M{number}"))


def update(change: str) -> tuple[str, str]:
    action = f'{{action: Update, item: Loan, pk: x, changes: ["{change}"]}}'
    return written(f"{{pattern: AP-012, requests: [{{call: UpdateItem, actions: [{action}]}}]}}")


def put(pattern: str, call: str) -> tuple[str, str]:
    action = "{action: Put, item: Loan, pk: x}"
    return written(f"{{pattern: {pattern}, requests: [{{call: {call}, actions: [{action}]}}]}}")


def asked(pattern: str, request: str) -> tuple[str, str]:
    return written(f"{{pattern: {pattern}, requests: [{{{request}}}]}}")


SCANS_OF_VERSIONS: Edits = (
    loan("`scan` (content, optional, mutable, 500 KB)"),
    loan("`version` (integer, mutable)"),
    ("~5 per Member, ~10K total", "~5 per Member, ~10K total\n- **History**: 3 versions"),
)
CASES: list[tuple[str, Edits, Edits, str]] = [
    ("PJ510", (), ((LOAN, 'sk: ["MEMBER"]'),), "can have the same key"),
    ("PJ511", (), ((BRANCH, BRANCH.replace("{dueOn}#", "{book}")),), "has no separator after it"),
    ("PJ512", (loan("`fee` (integer)"),), (RAW, (LOAN, 'sk: ["LOAN#{fee}#{loanId}"]')), "10 before 9"),
    ("PJ513", (), (RAW, (LOAN, 'sk: ["LOAN#{dueOn:MM/DD/YY}#{loanId}"]')), "do not sort by time"),
    ("PJ514", (loan("`fee` (number)"),), ((LOAN, 'sk: ["LOAN#{fee:floor}#{loanId}"]'),), "rounded"),
    ("PJ515", (), ((LOAN, 'sk: ["LOAN#{loanState}#{loanId}"]'),), "`AP-012` changes it"),
    ("PJ516", (loan("`shelf` (string, optional)"),), ((LOAN, 'sk: ["LOAN#{shelf}#{loanId}"]'),), "may be absent"),
    ("PJ517", (), ((LOAN, 'sk: ["LOAN#{dueOn}"]'),), "`loanId` is not in the table's key"),
    ("PJ518", (), ((LOAN, 'sk: ["LOAN#{day}#{loanId}"]'),), "has no attribute `day`"),
    (
        "PJ519",
        (("### Loan\n", "### Fee\n\n- **Attributes**:\n  - `feeId` (ulid, generated)\n\n### Loan\n"),),
        (),
        "Fee has no",
    ),
    ("PJ520", (), ((GUARDS, ""),), "nothing keeps `email` of Member unique"),
    ("PJ521", (("loanId` (ulid, generated)", "loanId` (string, natural)"),), (), "two items with the same `loanId`"),
    (
        "PJ522",
        (("`dueOn` (date,", "`dueDate` (string,"), ("dueOn", "dueDate")),
        (("dueOn", "dueDate"),),
        "how it is written",
    ),
    (
        "PJ523",
        (("`book` (string, immutable)", "`book` (string, immutable, 2 KB)"),),
        ((LOAN, 'sk: ["LOAN#{book}#{loanId}"]'),),
        "2,",
    ),
    ("PJ524", (), (RAW, (LOAN, 'sk: ["LOAN#{book}#{loanId}"]')), "would look like two values"),
    (
        "PJ525",
        (),
        (RAW, ('sk: ["MEMBER"]', 'sk: ["MEMBER DATA"]'), (LOAN, 'sk: ["{book}"]')),
        "equals the word of the other",
    ),
    (
        "PJ526",
        (loan("`language` (string, mutable)"),),
        (("    tag: Loan\n", "    tag: Loan\n    known: [loanId, memberId, branchId, book, dueOn, loanState]\n"),),
        "Loan.language is new",
    ),
    (
        "PJ527",
        (
            loan("`language` (string, immutable, default=en)"),
            read("| AP-006 | Loan | of one | language | Collection | - | Yes (20) | Warm | Eventual | No |\n"),
        ),
        (
            *index("gsi2", "Loan", "LANGUAGE#{language}", "{loanId}"),
            ("    tag: Loan\n", "    tag: Loan\n    known: [loanId, memberId, branchId, book, dueOn, loanState]\n"),
        ),
        "not in the index",
    ),
    (
        "PJ565",
        (),
        (("    tag: Loan\n", "    tag: Loan\n    known: [loanId, memberId, branchId, book, dueOn, loanState, fee]\n"),),
        "lists `fee` under Attributes of Loan",
    ),
    ("PJ528", (("`dueOn` (date, immutable)", "`dueOn` (date, immutable, default=2024-01-15)"),), (), "is never used"),
    (
        "PJ529",
        (loan("`fee` (integer, immutable, max 1000)"),),
        ((LOAN, 'sk: ["LOAN#{fee:03d}#{loanId}"]'),),
        "may be 1000, and `LOAN#{fee:03d}#{loanId}` has 3 digits",
    ),
    (
        "PJ529",
        (loan("`fee` (integer, immutable, min -1, max 9)"),),
        ((LOAN, 'sk: ["LOAN#{fee:03d}#{loanId}"]'),),
        "may be -1",
    ),
    ("PJ530", (read(BY_BOOK),), (), "scan"),
    ("PJ531", ((LISTED, "| by book | memberId | Collection | book ASC"),), (), "order of book"),
    ("PJ532", (("branchId, dueOn <", "branchId, book <"), UNSORTED), (), "the range over book"),
    ("PJ533", ((f"{SIGN_IN} Eventual", f"{SIGN_IN} Strong"),), (), "cannot be read consistently"),
    (
        "PJ534",
        (),
        (("sk: [{name: gsi1sk}]}", "sk: [{name: gsi1sk}], projection: {kind: KEYS_ONLY}}"),),
        "does not hold all",
    ),
    ("PJ535", ((LISTED, "| of a book | memberId, book | Collection | -"),), (), "book would be left to a filter"),
    (
        "PJ536",
        (),
        ((f'pk: ["MEMBER#{{memberId}}"], {LOAN}', f'pk: ["LOANS#{{memberId}}"], {LOAN}'),),
        "not neighbours",
    ),
    ("PJ537", (), (asked("AP-003", "call: GetItem, entities: [Loan]"),), "`dueOn`, `loanId` is not given"),
    (
        "PJ538",
        (),
        (
            asked("AP-003", "call: Query, entities: [Loan], sk: begins_with L"),
            ('sk: ["MEMBER"]}\n      - {slot: gsi1', 'sk: ["LIBRARY"]}\n      - {slot: gsi1'),
        ),
        "also finds `Member`",
    ),
    ("PJ539", (), (asked("AP-001", "call: Query, entities: [Member]"),), "knows the whole key"),
    (
        "PJ540",
        (("branchId, dueOn <", "branchId, book begins_with"), UNSORTED),
        ((BRANCH, BRANCH.replace("{dueOn}", "{book:lower}")),),
        "another case",
    ),
    (
        "PJ541",
        (
            ("branchId, dueOn < | Collection | dueOn ASC | Yes (20)", "branchId, book | Collection | - | No"),
            ("~10K total", "~2M per branchId, ~200M total"),
        ),
        ((BRANCH, BRANCH.replace("{dueOn}", "{book}")),),
        "MB in one result",
    ),
    ("PJ542", (("| of a branch | branchId, dueOn <", "| overdue | branchId, dueOn >"),), (), "overdue items"),
    (
        "PJ543",
        (loan("`endsAt` (datetime, optional, ttl)"),),
        ((GUARDS, GUARDS + "ttlAttribute: endsAt\n"),),
        "AP-003 may find a Loan whose",
    ),
    ("PJ544", (), SHARDED, "20 shards"),
    (
        "PJ545",
        (),
        (
            (BRANCH, '{slot: gsi1, pk: ["EMAIL#{branchId}"], sk: ["{dueOn}#{loanId}"]}'),
            ('pk: ["EMAIL#{email}"], sk: ["MEMBER"]', 'pk: ["EMAIL#{email}"], sk: ["{joinedAt}"]'),
        ),
        "also reads",
    ),
    ("PJ546", ((LISTED, "| of a book | memberId, filter book | Collection | -"),), (), "filters by `book`"),
    ("PJ550", (("memberId, dueOn, loanId, loanState", "memberId, dueOn, loanState"),), (), "without `loanId`"),
    ("PJ564", (("memberId, dueOn, loanId, loanState", "memberId, loanId, loanState"),), (), "without `dueOn`"),
    (
        "PJ551",
        (("memberId, dueOn, loanId, loanState", "memberId, dueOn, loanId, loanState"),),
        ((BRANCH, BRANCH.replace("{dueOn}", "{loanState}#{book}#{dueOn}")),),
        "also needs `book`",
    ),
    (
        "PJ552",
        (),
        ((BRANCH, BRANCH.replace("{dueOn}", "{loanState}#{dueOn}")), update("SET loanState = {loanState}")),
        "updating `gsi1sk`",
    ),
    (
        "PJ553",
        (read(BY_BOOK),),
        ((GUARDS, COPY + GUARDS), update("SET loanState = {loanState}")),
        "without updating its copy",
    ),
    (
        "PJ554",
        (
            loan("`lender` (string, mutable, copy of Member.fullName)"),
            write("| AP-013 | Member | rename | memberId, fullName | update Member (fullName) | No | - | Cold |"),
        ),
        (),
        "is not updated",
    ),
    (
        "PJ563",
        (
            loan("`friendId` (uuid, → Member)"),
            loan("`friend` (string, mutable, follows Member.fullName via friendId within 1 minute)"),
            read("| AP-006 | Loan | of a friend | friendId | Collection | - | Yes (20) | Warm | Eventual | No |"),
        ),
        (),
        "no key finds each Loan by `friendId`",
    ),
    (
        "PJ563",
        (loan("`lender` (string, mutable, follows Member.fullName within 1 minute)"),),
        (('sk: ["MEMBER"]}\n      - {slot', 'sk: ["MEMBER#{email}"]}\n      - {slot'),),
        "has `email`, which Loan does not hold",
    ),
    (
        "PJ555",
        (
            ("update Member (loanCount += 1)", "update Member (loanCount += 1); update Member (fullName)"),
            ("| lend | Loan |", "| lend | Loan, fullName |"),
        ),
        (),
        "two actions on the same Member",
    ),
    (
        "PJ556",
        (("~5 per Member", "at most 500 per Member"), ("create Loan; update", "create Loan[]; update")),
        (),
        "501 actions",
    ),
    (
        "PJ557",
        (("~5 per Member, ~10K total", "~10K total"), ("create Loan; update", "create Loan[]; update")),
        (),
        "without a limit on their number",
    ),
    (
        "PJ569",
        (("| forget | memberId, dueOn, loanId | delete Loan |", "| forget | branchId | delete Loan[] |"),),
        (),
        "AP-020 finds `Loan` in gsi1",
    ),
    (
        "PJ558",
        (loan("`views` (integer, optional, mutable)"), ("update Loan (loanState)", "update Loan (views += 1)")),
        (update("SET views = views + 1"),),
        "fails on an item without `views`",
    ),
    ("PJ559", (), (put("AP-011", "BatchWriteItem"),), "must be atomic"),
    (
        "PJ560",
        (("loanId` (ulid, generated)", "loanId` (string, natural)"),),
        (put("AP-011", "PutItem"),),
        "over an existing one",
    ),
    ("PJ561", (), ((BRANCH, BRANCH.replace("{dueOn}", "{loanState}#{dueOn}")),), "moves Loan in `gsi1`"),
    (
        "PJ570",
        (("| Yes | - | Warm |\n| AP-012", "| Yes | - | 5000/s |\n| AP-012"),),
        ((BRANCH, BRANCH.replace("BRANCH#{branchId}", "LOANS#{dueOn:day}")),),
        "split it into",
    ),
    (
        "PJ571",
        (("branchId, dueOn <", "dueOn <"),),
        ((BRANCH, BRANCH.replace("BRANCH#{branchId}", "LOANS")),),
        "it takes",
    ),
    (
        "PJ572",
        (("~5 per Member", "unbounded per Member"),),
        index("lsi1", "Loan", "MEMBER#{memberId}", "{loanState}#{loanId}", ", local: true"),
        "10 GB",
    ),
    ("PJ573", (("~5 per Member", "unbounded per Member"),), (), "nothing limits the number"),
    ("PJ574", (loan("`scan` (map, 500 KB)"),), (), "500 KB"),
    ("PJ575", (loan("`scan` (binary, 200 KB)"),), (), "each write of the item"),
    ("PJ576", (("email unique | Cold", "email unique | 10/s"),), (), "2,000 after 3 minutes, and nothing removes them"),
    ("PJ580", (), LOTS, "22 global"),
    ("PJ581", (), MANY, "7 global"),
    ("PJ582", (), index("gsi2", "Loan", "X#{book}", "{loanId}"), "no pattern needs the index gsi2"),
    (
        "PJ583",
        (read(BY_BOOK),),
        (
            *index("gsi2", "Loan", "X#{book}", "{loanId}"),
            (EMAIL, EMAIL + '      - {slot: gsi2, pk: ["M#{memberId}"], sk: ["M"]}\n'),
        ),
        "no pattern reads Member in gsi2",
    ),
    ("PJ584", (), ((GUARDS, COPY + GUARDS),), "no pattern needs the copy `by-book`"),
    (
        "PJ585",
        (),
        (
            (GSI1, GSI1 + "  - {name: gsi2, pk: [{name: gsi2pk}], sk: [{name: gsi2sk}]}\n"),
            (BRANCH, BRANCH.replace("gsi1", "gsi2")),
        ),
        "more than one of",
    ),
    (
        "PJ586",
        (
            ("| branchId, dueOn < | Collection |", "| branchId, dueOn < | Collection (loanId, dueOn) |"),
            ("| sign in | email | Single |", "| sign in | email | Single (memberId) |"),
        ),
        (),
        "only `dueOn`, `loanId`, `memberId`",
    ),
    ("PJ587", (), MANY[:8], "is written 7 times"),
    ("PJ589", (), naming(21), "the projection of gsi1 names 21 attributes"),
    ("PJ588", (decides("no GSIs"),), (), "the document decides `no GSIs`, and there is `gsi1`"),
    ("PJ588", (decides("at most 1 structures"),), ((GUARDS, COPY + GUARDS),), "there are `gsi1`, `Loan/by-book`"),
    ("PJ588", (decides("no GSIs for Loan"),), (), "there is `Loan in gsi1`"),
    ("PJ588", (decides("no copies for Loan"),), ((GUARDS, COPY + GUARDS),), "there is `Loan/by-book`"),
    ("PJ588", (decides("at most 4 shards"),), SHARDED, "there is `20 shards of Loan in gsi1`"),
    ("PJ588", (decides("no shards for Loan"),), SHARDED, "there is `20 shards of Loan in gsi1`"),
    ("PJ588", (decides("Loan in 8 shards"),), SHARDED, "there is `20 shards of Loan in gsi1`"),
    ("PJ588", (decides("Loan in buckets of a year"),), BY_MONTH, "there is `a partition each month of Loan in gsi1`"),
    ("PJ588", (decides("no buckets"),), BY_MONTH, "there is `a partition each month of Loan in gsi1`"),
    ("PJ588", (decides("the table is named `shop`"),), (), "there is `library`"),
    (
        "PJ588",
        (decides("Loan has key `X#{loanId}` and `X`"),),
        (),
        "there is `MEMBER#{memberId} and LOAN#{dueOn}#{loanId}`",
    ),
    (
        "PJ599",
        (decides("Loan in 8 shards"),),
        (),
        "has no effect: each of its partitions is of one memberId or branchId",
    ),
    ("PJ599", (decides("Member in buckets of a day"),), (), "no read of it gives a start time"),
    (
        "PJ599",
        (decides("Loan lives under Member"),),
        ((f'pk: ["MEMBER#{{memberId}}"], {LOAN}', 'pk: ["LOAN#{loanId}"], sk: ["LOAN"]'),),
        "is not made of the id of Member",
    ),
    ("PJ599", (decides("Loan has key `X#{book}` and `X` in gsi9"),), (), "Loan has no key in gsi9"),
    ("PJ590", (member("`status` (string)"),), (), "`status` is a reserved word"),
    ("PJ591", (), (("name: gsi1pk", "name: GSI1-PK"),), "`GSI1-PK`"),
    ("PJ592", (loan("`endsAt` (integer, optional, ttl)"),), (), "not set"),
    ("PJ593", (), ((GUARDS, GUARDS + 'typeAttribute: ""\n'),), "no type attribute"),
    ("PJ593", (), ((GUARDS, GUARDS + 'typeAttribute: "-"\n'),), "no type attribute"),
    (
        "PJ594",
        (("`book` (string, immutable)", "`book` (string, immutable)"),),
        (RAW, ('pk: ["MEMBER#{memberId}"]', 'pk: ["{memberId}"]'), (LOAN, 'sk: ["{dueOn}#{loanId}"]')),
        "has no literal word",
    ),
    ("PJ595", (), (("name: gsi1pk", "name: branchId"),), "`branchId` would hold"),
    ("PJ596", (), ((BRANCH, BRANCH.replace("BRANCH#", "member#")),), "differ only in case"),
    (
        "PJ597",
        ((ACCOUNT, ""),),
        (
            (f'pk: ["MEMBER#{{memberId}}"], {LOAN}', 'pk: ["LOAN#{loanId}"], sk: ["LOAN"]'),
            (BRANCH, BRANCH.replace("BRANCH#{branchId}", "M#{memberId}")),
        ),
        "finds children by an index",
    ),
    ("PJ598", (), (("gsi1", "email-index"),), "named after `email`"),
    (
        "PJ600",
        (
            (
                "- **Teams**: 1\n- **Access patterns**: stable",
                "- **Teams**: 3\n- **Access patterns**: unknown\n- **Ad-hoc queries**: Yes",
            ),
        ),
        (),
        "3 teams own it",
    ),
    ("PJ601", (("| sign in | email |", "| full-text search in names | email |"),), (), "a search for words"),
    ("PJ602", (("| sign in | email |", "| dashboard | email |"),), (), "a figure over many items"),
    (
        "PJ603",
        (
            (
                "by due date | memberId",
                "by due date | memberId, filter book, filter branchId, filter loanState, filter loanId",
            ),
        ),
        (),
        "4 conditions",
    ),
    ("PJ604", ((f"| AP-003 | Loan {LISTED} | {PAGES}", LENDERS),), (), "it follows Loan to Member"),
    ("PJ605", (loan("`scan` (binary, 500 KB)"),), (), "Loan.scan is kept in parts"),
    ("PJ606", SCANS_OF_VERSIONS, (), "nothing deletes the contents of `Loan.scan`"),
]


def edited(text: str, edits: Edits) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


@cache
def workload_of(edits: Edits = ()) -> Workload:
    reading = read_text(edited(DOCUMENT, edits), "md")
    assert [d for d in reading.diagnostics if d.severity is Severity.ERROR] == []
    return reading.workload


@cache
def design_of(edits: Edits = ()) -> Design:
    tree, spans = read_tree(edited(KEYS, edits), "yaml")
    return files.design_of(tree, spans)


def told(document: Edits, keys: Edits) -> list[Diagnostic]:
    return list(check_design(design_of(keys), workload_of(document)))


def test_sound_design_has_no_diagnostics() -> None:
    assert told((), ()) == []


def test_sound_design_with_operations_has_no_diagnostics() -> None:
    workload = workload_of()
    assert check_design(map_patterns(design_of(), workload), workload) == ()


@pytest.mark.parametrize(("code", "document", "keys", "part"), CASES, ids=[case[0] for case in CASES])
def test_mistake_is_reported(code: str, document: Edits, keys: Edits, part: str) -> None:
    said = [d for d in told(document, keys) if d.code == code]
    assert [d.message for d in said if part in d.message or part in d.fix] != [], told(document, keys)
    assert all(d.fix and d.severity is codes.CATALOGUE[code].severity for d in said)


def test_every_code_has_a_case_here() -> None:
    checked = {code for code in codes.CATALOGUE if "PJ510" <= code < "PJ620"}
    sparse = {"PJ547", "PJ562"}  # these need designs that were solved: test_sparse.py
    assert {case[0] for case in CASES} | sparse == checked, checked - {case[0] for case in CASES}


def test_diagnostic_has_the_place_in_the_design_document() -> None:
    def at(name: str, slot: str) -> Span | None:
        return Span(7, 3, "LOAN#{dueOn}") if (name, slot) == ("Loan", "table") else None

    said = check_design(design_of(((LOAN, 'sk: ["LOAN#{dueOn}"]'),)), workload_of(), at)
    assert [(d.line, d.column) for d in said if d.code == "PJ517"] == [(7, 3)]


def test_the_shop_s_own_design_has_no_errors_and_no_warnings() -> None:
    said = check_design(shop_design(), shop_workload())
    assert [d for d in said if d.severity is not Severity.HINT] == []


@pytest.mark.slow
def test_a_solved_design_has_no_errors() -> None:
    workload = workload_of()
    assert [d for d in check_design(solve(workload).design, workload) if d.severity is Severity.ERROR] == []


def test_daily_partition_does_not_spread_current_writes() -> None:
    document = (
        ("| Yes | - | Warm |\n| AP-012", "| Yes | - | 3000/s |\n| AP-012"),
        ("branchId, dueOn <", "dueOn between"),
    )
    daily = BRANCH.replace("BRANCH#{branchId}", "LOANS#{dueOn:day}")
    spread = BRANCH.replace("BRANCH#{branchId}", "LOANS#{dueOn:day}#{loanId:shard(4)}")
    assert "PJ570" in {d.code for d in told(document, ((BRANCH, daily),)) if "gsi1" in d.message}
    assert "PJ570" not in {d.code for d in told(document, ((BRANCH, spread),)) if "gsi1" in d.message}


def test_projections_have_a_limit_of_attributes() -> None:
    assert "PJ589" not in {d.code for d in told((), naming(20))}
    slots = "".join(GSI1.replace("gsi1", f"gsi{number}") for number in range(2, 8))
    each = naming(20)[0][1].split("projection: ")[1].rstrip("}\n") + "}"
    edits = ((GSI1, (GSI1 + slots).replace("]}\n", f"], projection: {each}}}\n")),)
    assert "140 attributes" in "".join(d.message for d in told((), edits) if d.code == "PJ589")


def test_design_that_obeys_the_decisions_has_no_diagnostics() -> None:
    limits = decides(
        "at most 1 GSIs\n- no copies\n- no shards for Loan\n- Loan in buckets of a month\n- no GSIs for Branch"
    )
    document = (
        limits,
        ("### Loan\n", "### Branch\n\n- **Attributes**:\n  - `branchId` (string, natural)\n\n### Loan\n"),
    )
    assert "PJ588" not in {d.code for d in told(document, ())}
    assert "PJ588" not in {d.code for d in told((decides("at most 20 shards\n- Loan in 20 shards"),), SHARDED)}


def test_a_local_index_is_no_gsi() -> None:
    local = "  - {name: lsi1, pk: [{name: pk}], sk: [{name: lsi1sk}], local: true}\n"
    assert "PJ588" not in {d.code for d in told((decides("at most 1 GSIs"),), ((GSI1, GSI1 + local),))}


def test_without_local_indexes_a_partition_has_no_limit_of_10_gb() -> None:
    assert "PJ572" not in {d.code for d in told((("~5 per Member", "unbounded per Member"),), ())}


def test_unpadded_number_is_fine_in_encoded_keys() -> None:
    assert "PJ512" not in {d.code for d in told((loan("`fee` (integer)"),), ((LOAN, 'sk: ["LOAN#{fee}#{loanId}"]'),))}


def test_a_query_needs_no_condition_on_the_sort_key() -> None:
    assert told((), (asked("AP-004", "call: Query, entities: [Member, Loan]"),)) == []


def test_stable_application_fits_and_unknown_one_may_not() -> None:
    assert fit(workload_of()).verdict is FitVerdict.FITS
    assert fit(workload_of()).speaks_for
    unknown = workload_of(
        (("- **Access patterns**: stable", "- **Access patterns**: unknown\n- **Experience**: none"),)
    )
    found = fit(unknown)
    assert found.verdict is FitVerdict.DOUBT
    assert len(found.speaks_against) == 2


def test_a_pattern_that_does_not_fit_says_what_to_use_instead() -> None:
    (found,) = fit(workload_of((("| sign in | email |", "| full-text search | email |"),))).elsewhere
    assert (found.pattern, found.code) == ("AP-002", codes.SEARCH)
    assert "OpenSearch" in found.use


TASKS = """\
# Tasks

## Entities

### Task

- **Attributes**:
  - `taskId` (ulid, generated)
  - `teamId` (string, immutable)
  - `state` (OPEN | DONE, immutable)
- **Cardinality**: ~10K total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Task | tasks | teamId, state? | Collection | - | Yes (20) |
"""
OF_TEAM = {"slot": "gsi1", "pk": ["TEAM#{teamId}"], "sk": ["{taskId}"]}
OF_STATE = {"slot": "gsi2", "pk": ["TEAM#{teamId}#{state}"], "sk": ["{taskId}"]}


def tasks_design(*facets: object) -> tuple[Workload, Design]:
    workload = read_text(TASKS, "md").workload
    names = {facet["slot"] for facet in facets if isinstance(facet, dict)}
    indexes = [{"name": f"gsi{n}", "pk": [{"name": f"gsi{n}pk"}], "sk": [{"name": f"gsi{n}sk"}]} for n in (1, 2)]
    tree = {
        "table": "tasks",
        "slots": [{"name": "table", "pk": [{"name": "pk"}], "sk": [{"name": "sk"}]}]
        + [index for index in indexes if index["name"] in names],
        "items": [
            {
                "entity": "Task",
                "tag": "Task",
                "facets": [{"slot": "table", "pk": ["TASK#{taskId}"], "sk": ["TASK"]}, *facets],
            }
        ],
    }
    reading = files.read_design_text(json.dumps(tree), workload, "json")
    assert reading.diagnostics == ()
    return workload, map_patterns(reading.design, workload)


def test_an_index_that_serves_a_read_without_its_optional_input_is_needed() -> None:
    """The read has to work without the state, so that it uses the other index always."""
    workload, design = tasks_design(OF_TEAM, OF_STATE)
    assert [request.slot for request in design.operations[0].requests] == ["gsi1"]
    unused = [d.about for d in check_design(design, workload) if d.code == codes.UNUSED_INDEX.id]
    assert unused == ["gsi2"]


def test_a_key_that_needs_an_optional_input_serves_no_read() -> None:
    workload, design = tasks_design(OF_STATE)
    assert design.operations[0].problem == "no key serves Task by teamId"
    assert codes.NOT_SERVED.id in {d.code for d in check_design(design, workload)}
