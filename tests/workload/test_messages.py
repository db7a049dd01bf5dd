"""Every message: a document with the mistake, the position, and the fix. All codes are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload import codes
from prejoin.workload.files import read_file, read_text

SOUND = """\
# Library

> Status: DRAFT

## Entities

### Member

Someone who borrows.

- **Attributes**:
  - `memberId` (uuid, generated)
  - `email` (string, unique)
  - `name` (string, mutable)
  - `joinedAt` (datetime, immutable)
  - `loanCount` (integer, mutable)
  - `tags` (set of string, optional, mutable)
- **Cardinality**: ~2K total

### Loan

- **Attributes**:
  - `loanId` (ulid, generated)
  - `memberId` (uuid, → Member)
  - `dueOn` (date)
  - `status` (OUT | BACK, mutable)
- **Relationships**:
  - Member 1:N Loan via memberId
- **Cardinality**: at most 20 per Member

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Member | One | memberId | Single | - | No | Hot | Strong | No |
| AP-002 | Member | By mail (admin) | email | Single | - | No | Warm | Eventual | No |
| AP-003 | Member, Loan | With loans | memberId | Collection | - | No | Warm | Eventual | Collection |
| AP-004 | Loan | Overdue | status = OUT, dueOn < | Collection | dueOn ASC | Yes (50) | Cold | Eventual | No |
| AP-005 | Member | All | - | Collection | - | Yes | Cold | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Member | Join | email, name | create Member | No | email unique | Cold |
| AP-021 | Loan, Member | Lend | loanId, memberId, dueOn | create Loan; update Member (loanCount += 1) | Yes | Member.loanCount < 20 | Warm |
| AP-022 | Loan | Return | loanId | update Loan (status = BACK) | No | Loan exists | Warm |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Loan | Forget | loanId | delete Loan | No | - | Cold |

## Decisions

- Loan lives under Member
"""

VANS = """\
### Parcel

- **Attributes**:
  - `parcelId` (ulid, generated)
  - `region` (string, immutable)
  - `state` (HERE | GONE, mutable)

### Van

- **Attributes**:
  - `vanId` (ulid, generated)
  - `region` (string, immutable)
  - `load` (integer, mutable)

### Loan"""
SAME_REGION = f"{VANS}\n"
"""The same entities, for a condition on `region` that does not say whose it is."""
LOAD = "update Member (loanCount += 1); update Parcel (state = GONE); update Van (load += 1)"

DUE = "`dueOn` (date)\n"

LIMIT = "- **Cardinality**: at most 20 per Member\n"
REST = SOUND.partition(DUE)[2]


UNCOUNTED = "  - `version` (integer, mutable)\n" + REST.replace(
    "Return | loanId |", "Return | loanId, version |"
).replace("| Loan exists |", "| version = version |")
"""The rest of the document, with a version that nothing counts."""


def versioned(old: str = "", new: str = "", kept: str = "3 versions") -> str:
    """The rest of the document with a history of loans, and a mistake."""
    text = "  - `version` (integer, mutable)\n" + REST.replace(LIMIT, f"{LIMIT}- **History**: {kept}\n")
    assert old in text
    return text.replace(old, new, 1)


def marked(old: str = "", new: str = "", line: str = "removedAt", more: str = "") -> str:
    """The rest of the document with a soft delete of loans, and a mistake."""
    text = f"  - `removedAt` (datetime, optional, mutable)\n{more}" + REST.replace(
        LIMIT, f"{LIMIT}- **Soft delete**: {line}\n"
    )
    assert old in text
    return text.replace(old, new, 1)


# The code, a text of the sound document and its replacement, the text that the message points at, a part of the fix.
CASES = [
    ("PJ101", "# Library\n\n> Status: DRAFT\n\n", "", "", "# "),
    ("PJ102", "DRAFT", "DONE", "DONE", "`REVIEWED`"),
    ("PJ103", "## Decisions", "## Decision", "Decision", "`Decisions`"),
    ("PJ104", SOUND.partition("## Entities")[2].partition("## Access")[0], "\n", "Entities", "`### Member`"),
    ("PJ104", "## Entities" + SOUND.partition("## Entities")[2].partition("## Access")[0], "", "", "## Entities"),
    ("PJ105", "| Input Parameters | Result |", "| Input Parameters | Resultat |", "| ID |", "Result"),
    ("PJ106", "| Single | - | No | Hot | Strong | No |", "| Single | - | No | Hot | Strong | No | x |", "x", "\\|"),
    ("PJ107", "| Paginated |", "| Paginatd |", "Paginatd", "`Paginated`"),
    ("PJ108", "**Cardinality**: ~2K", "**Cardinalty**: ~2K", "Cardinalty", "`Cardinality`"),
    ("PJ109", "### Deletes", "### Removals and the like", "| ID |", "### Deletes"),
    ("PJ110", "(string, unique)", "(varchar, unique)", "varchar", "`string`"),
    ("PJ110", "(date)", "(date, uniqe)", "uniqe", "`unique`"),
    ("PJ110", "`loanCount` (integer, mutable)", "`loanCount` (integer, mutable, max)", ")", "`max 9999`"),
    ("PJ110", "`loanCount` (integer, mutable)", "`loanCount` (integer, mutable, max 2.5)", "2.5", "whole number"),
    ("PJ111", "Member 1:N Loan via memberId", "belongs to a Member", "belongs to a Member", "Member 1:N Loan"),
    ("PJ112", "~2K total", "quite a lot", "quite a lot", "~100 per User"),
    ("PJ113", "## Entities", "## Context\n\n- **Stage**: early\n\n## Entities", "early", "`prototype`"),
    ("PJ114", "| AP-004 |", "\n| AP-004 |", "| AP-004", "remove the blank line"),
    ("PJ114", "| --- | --- | --- | --- | --- | --- | --- | --- |\n", "", "| ID", "below the header"),
    ("PJ115", "  - `dueOn` (date)", "    - `dueOn` (date)", "- `dueOn`", "below `- **Attributes**:`"),
    ("PJ115", "- Loan lives under Member", "Loan lives under Member", "Loan lives", "below `## Decisions`"),
    ("PJ116", "| Hot | Strong | No |", "| Hot | Strong |", "AP-001", "write all of them"),
    ("PJ117", LIMIT, f"{LIMIT}- **Cardinality**: 5 total\n", "Cardinality", "write it once"),
    ("PJ120", "status = OUT, dueOn <", "status = OUT; dueOn soon", "soon", "last 7 days"),
    ("PJ121", "| Single | - | No | Hot", "| the member | - | No | Hot", "the", "`Single`"),
    ("PJ122", "dueOn ASC", "oldest first", "first", "createdAt DESC"),
    ("PJ123", "Yes (50)", "perhaps", "perhaps", "`Yes (20)`"),
    ("PJ124", "| Hot |", "| often |", "often", "`250/s`"),
    ("PJ125", "| Strong |", "| always |", "always", "`Strong`"),
    ("PJ126", "| Eventual | Collection |", "| Eventual | maybe |", "maybe", "`Join`"),
    ("PJ127", "| Eventual | Collection |", "| Eventual | Yes |", "Yes", "`Join`"),
    ("PJ130", "create Loan; update Member (loanCount += 1)", "Loan + Member update", "Loan", "create Loan; update Member (…)"),
    ("PJ131", "| Yes | Member.loanCount", "| batch | Member.loanCount", "batch", "`Yes`"),
    ("PJ132", "Member.loanCount < 20", "not too many", "too", "`User exists`"),
    ("PJ133", "Loan lives under Member", "Loans go under the same key as members", "Loans go", "lives under"),
    ("PJ133", "Loan lives under Member", "Loan lives with Member", "Loan lives with", "lives under"),
    ("PJ133", "Loan lives under Member", "minimise cost", "minimise cost", "`minimise money`"),
    ("PJ133", "Loan lives under Member", "Loan in buckets of a week", "Loan in buckets", "`Sample in buckets of a day`"),
    ("PJ201", "| AP-002 | Member |", "| AP-002 | Membr |", "Membr", "`Member`"),
    ("PJ202", "| email | Single", "| mail | Single", "mail", "`email`"),
    ("PJ202", "| email | Single", "| emailPrefix | Single", "emailPrefix", "`email begins_with`"),
    ("PJ203", "### Loan", "### member", "member", "a name of its own"),
    ("PJ203", "### Loan", "### Mem_ber", "Mem_ber", "a name of its own"),
    ("PJ204", "`dueOn` (date)", "`dueOn` (date)\n  - `dueon` (date)", "`dueon`", "a name of its own"),
    ("PJ205", "AP-022", "AP-021", "AP-021", "a name of its own"),
    ("PJ206", "Loan lives under Member", "AP-099 is out of scope", "AP-099", "ID"),
    ("PJ207", "status = OUT,", "status = AWAY,", "status = AWAY", "`OUT`"),
    ("PJ208", "| dueOn ASC |", "| dueOn ASC |\n| AP-009 | Member | x | tags | Count | - | No | Cold | Eventual | No |", "tags", "contains"),
    ("PJ208", "| dueOn ASC |", "| dueOn ASC |\n| AP-009 | Member | x | filter loanCount contains 1 | Count | - | No | Cold | Eventual | No |", "filter loanCount contains 1", "`loanCount = …`"),
    ("PJ207", "`loanCount` (integer, mutable)", "`loanCount` (integer, mutable, min 21)", "loanCount", "`min 19`"),
    ("PJ208", "`email` (string, unique)", "`email` (string, unique, max 80)", "`email`", "`50 B`"),
    ("PJ212", "`loanCount` (integer, mutable)", "`loanCount` (integer, mutable, min 9, max 5)", "`loanCount`", "`min 5, max 9`"),
    ("PJ209", "`memberId` (uuid, → Member)", "`memberId` (integer, → Member)", "`memberId`", "uuid"),
    ("PJ210", "`loanId` (ulid, generated)", "`loanId` (ulid)", "Loan", "`loanId`"),
    ("PJ211", "`email` (string, unique)", "`email` (string, natural)\n  - `best` (uuid, → Member)", "`best`", "→ Member."),
    ("PJ212", "| email | Single | - | No", "| email | Single | - | Yes", "Yes", "`Collection`"),
    ("PJ213", "| email, name |", "| email, newName |", "newName", "`name`"),
    ("PJ214", "(status = BACK)", "(loanId)", "update", "create another"),
    ("PJ215", "update Member (loanCount += 1)", "update Member (joinedAt = now)", "create", "mark it `mutable`"),
    ("PJ216", "`status` (OUT | BACK, mutable)", "`status` (OUT | BACK)", "update", "mutable"),
    ("PJ217", "### Loan", "### Loan of a book", "Loan of a book", "one plain word"),
    ("PJ218", "(status = BACK)", "(status)", "update", "status = …"),
    ("PJ219", "`dueOn` (date)", "`dueOn` (date)\n  - `aws:due` (date)", "aws:due", "`aws_due`"),
    ("PJ219", "`dueOn` (date)", "`dueOn` (date)\n  - `due.at` (date)", "due.at", "`due_at`"),
    ("PJ213", "| Return | loanId |", "| Return | loanId, Loan.dueOn |", "Loan.dueOn", "`Loan.dueOn = dueOn`"),
    ("PJ220", "### Loan", VANS, "region", "`Parcel.region = region`"),
    ("PJ221", "`dueOn` (date)\n", "`dueOn` (datetime, ttl)\n", "dueOn < now", "now + 7 days"),
    ("PJ212", "| Loan exists |", "| goneAt <= now |", "goneAt", "`create` replaces"),
    ("PJ104", "### Member\n\nSomeone who borrows.\n\n", "- Member\n", "", "`### Member`"),
    ("PJ212", "Loan lives under Member", "minimise money\n- minimise structures", "minimise structures", "leave out one"),
    ("PJ212", "`dueOn` (date)", "`dueOn` (date, optional, default=2024-01-15)", "`dueOn`", "take the default away"),
    ("PJ241", "| Forget | loanId | delete Loan |", "| Forget | - | delete Loan[] |", "Loan[]", "add the input `memberId`"),
    ("PJ242", "### Loan", SAME_REGION, "region = NORTH", "`Parcel.region`"),
    ("PJ244", "| Forget | loanId | delete Loan | No |", "| Forget | memberId | delete Loan[] | Yes |", "Loan[]", "write `No`"),
    ("PJ243", "update Loan (status = BACK)", "update Loan (status = BACK); delete Loan", "Loan (status", "make one action"),
    ("PJ212", "| loanId | delete Loan | No | - |", "| loanId | delete Loan | No | Loan not exists |", "Loan not exists", "leave the condition out"),
    ("PJ245", "| Forget | loanId | delete Loan |", "| Forget | memberId, dueOn < | delete Loan[] |", "dueOn <", "`loanId[]`"),
    ("PJ245", "| Return | loanId |", "| Return | loanId, status = OUT |", "status = OUT", "`Loan.status = OUT`"),
    ("PJ246", "| Forget | loanId |", "| Forget | loanId[] |", "loanId[]", "write `delete Loan[]`"),
    ("PJ247", "### Loan\n\n", "### Loan\n\n- **Renamed from**: Member\n", "Member", "remove `renamed from`"),
    ("PJ247", "`dueOn` (date)", "`dueOn` (date, renamed from status)", "`dueOn`", "remove `renamed from`"),
    ("PJ247", "`status` (OUT | BACK, mutable)", "`status` (OUT | BACK renamed from OUT, mutable)", "`status`", "remove"),
    ("PJ247", "`status` (OUT | BACK, mutable)", "`status` (OUT renamed from X | BACK renamed from X, mutable)", "`status`", "remove"),
    ("PJ248", "| Loan exists |", "| Loan.status = OUT or Member.loanCount < 9 |", "Loan.status", "one row for each case"),
    ("PJ222", "Loan lives under Member", "Loan lives under Loan", "Loan lives", "belongs to"),
    ("PJ222", "Loan lives under Member", "AP-020 may filter", "AP-020", "leave the decision out"),
    ("PJ222", "Loan lives under Member", "Loan has key `M#{memberId` and `L`", "Loan has key", "`USER#{userId}`"),
    ("PJ222", "Loan lives under Member", "Loan has key `L#{loanId}`", "Loan has key", "L#{loanId} and LOAN"),
    ("PJ222", "Loan lives under Member", "Member has key `M#{memberId}` and `M` in gsi1\n- Loan has key `L#{loanId}` in gsi1", "Loan has key", "L#{loanId} and LOAN"),
    ("PJ222", "Loan lives under Member", "the separator is named `ab`", "the separator", "choose one of"),
    ("PJ222", "Loan lives under Member", "the table is named `a b`", "the table", "letters"),
    ("PJ223", "## Entities", "## Context\n\n- **Tenant**: of members\n\n## Entities", "members", "`tenantId → Company`"),
    ("PJ224", DUE, DUE + "  - `lender` (integer, mutable, follows Member.name within 1 minute)\n", "`lender`", "make both string"),
    ("PJ224", DUE, DUE + "  - `lender` (string, follows Member.name within 1 minute)\n", "`lender`", "`mutable`"),
    ("PJ224", DUE, DUE + "  - `lender` (string, mutable, follows Member.name within 0 seconds)\n", "`lender`", "a time"),
    ("PJ224", DUE, DUE + "  - `lender` (string, mutable, copy of Member.email, follows Member.name within 1 minute)\n", "`lender`", "keep"),
    ("PJ224", DUE, DUE + "  - `lender` (uuid, mutable, follows Member.memberId within 1 minute)\n", "`lender`", "→ Member"),
    ("PJ224", DUE, DUE + "  - `lender` (string, unique, mutable, follows Member.name within 1 minute)\n", "`lender`", "flag"),
    ("PJ224", DUE, DUE + "  - `marks` (set of string, mutable, follows Member.tags within 1 minute)\n", "`marks`", "`optional`"),
    ("PJ224", DUE, DUE + "  - `by` (uuid, → Member)\n  - `lender` (string, mutable, follows Member.name within 1 minute)\n", "`lender`", "via"),
    ("PJ224", "`email` (string, unique)", "`email` (string, unique)\n  - `book` (date, mutable, follows Loan.dueOn within 1 minute)", "`book`", "a reference"),
    ("PJ224", DUE, DUE + "  - `by` (uuid, → Member)\n  - `lender` (string, mutable, follows Member.name via by within 1 minute)\n", "`lender`", "a read"),
    ("PJ224", DUE, DUE + "  - `lender` (string, mutable, follows Member.name)\n", "Member.loanCount", "`Member.name = lender`"),
    ("PJ226", LIMIT, LIMIT + "- **History**: 3 versions\n", "3 versions", "`version` (integer, mutable)"),
    ("PJ226", REST, versioned(kept="0 versions"), "0 versions", "`20 versions`"),
    ("PJ226", REST, versioned("(integer, mutable)", "(integer, optional, mutable)"), "3 versions", "`version` (integer, mutable)"),
    ("PJ226", REST, "  - `lender` (string, mutable, follows Member.name within 1 minute)\n" + versioned(), "3 versions", "`follows`"),
    ("PJ226", REST, versioned("create Loan;", "put Loan;"), "put Loan", "`create Loan`"),
    ("PJ226", REST, versioned("(status = BACK)", "(status = BACK, version += 1)"), "update Loan", "leave it out"),
    ("PJ226", REST, versioned("| Loan exists |", "| version = 3 |"), "version = 3", "as an input"),
    ("PJ227", LIMIT, LIMIT + "- **Soft delete**: removedAt\n", "removedAt", "`removedAt` (datetime, optional, mutable)"),
    ("PJ227", REST, marked("optional, mutable)", 'optional, mutable, default="2024-01-01T00:00:00Z")'), "removedAt", "`removedAt` (datetime, optional, mutable)"),
    ("PJ227", REST, marked(line="removedAt, kept 30 days"), "removedAt, kept 30 days", "mutable, ttl"),
    ("PJ227", REST, marked(line="removedAt, unique values are released"), "removedAt, unique values are released", "write only `removedAt`"),
    ("PJ227", REST, marked(more="  - `lender` (string, mutable, follows Member.name within 1 minute)\n"), "removedAt", "`follows`"),
    ("PJ227", REST, marked(more="  - `scan` (content)\n"), "removedAt", "an entity of its own"),
    ("PJ227", REST, marked("(status = BACK)", "(status = BACK, removedAt = now)"), "update Loan", "`delete Loan`"),
    ("PJ227", REST, marked("| Loan exists |", "| removedAt not exists |"), "removedAt not exists", "leave it out"),
    ("PJ230", DUE, f"{DUE}  - `joinedAt` (integer, ttl)\n", "joinedAt", "rename it: `memberJoinedAt`"),
    ("PJ230", DUE, "`dueOn` (date)\n  - `joinedAt` (integer)\n  - `endsAt` (integer, ttl)\n  - `removedAt` (datetime, ttl)\n", "removedAt", "call it `endsAt`"),
    ("PJ230", "## Decisions\n", "## Decisions\n\n- the sort key is named `status`\n", "status", "another name"),
    ("PJ301", "| AP-002 |", "|  |", "", "AP-031"),
    ("PJ302", "| email | Single", "|  | Single", "", "`-`"),
    ("PJ303", "| email | Single", "| email |  ", "", "`Count`"),
    ("PJ304", "| Eventual | Collection |", "| Eventual | No |", "No", "`Collection`"),
    ("PJ305", "| Member, Loan | With", "| Loan | With", "Collection", "`No`"),
    ("PJ306", "| Yes | Member.loanCount", "|  | Member.loanCount", "", "Transaction"),
    ("PJ307", "| update Loan (status = BACK) |", "|  |", "", "create Order"),
    ("PJ308", "| Hot |", "|  |", "", "Warm"),
    ("PJ309", "- **Cardinality**: ~2K total\n", "", "Member", "~100 per User"),
    ("PJ310", SOUND.partition("### Loan\n\n")[2].partition("- **Rel")[0], "", "Loan", "Attributes"),
    ("PJ311", "## Access Patterns", "### Shelf\n\n- **Attributes**:\n  - `shelfId` (string, natural)\n\n## Access Patterns", "Shelf", "add the read"),
    ("PJ312", "create Loan; ", "", "Loan", "add the write"),
    ("PJ313", "`memberId` (uuid, → Member)", "`borrower` (uuid)", "Member, Loan", "refers to"),
    ("PJ314", "at most 20 per Member", "unbounded per Member", "No", "Paginated"),
    ("PJ315", "| Return | loanId |", "| Return | dueOn |", "dueOn", "`loanId`"),
    ("PJ316", "| AP-002 | Member |", "| AP-002 |  |", "", "name what"),
    ("PJ317", "update Loan (status = BACK)", "update Loan", "update Loan", "attribute"),
    ("PJ318", "update Loan (status = BACK)", "upsert Loan (status = BACK)", "upsert Loan", "`optional`"),
    ("PJ318", "update Member (loanCount += 1)", "upsert Member (loanCount += 1)", "create Loan; upsert", "create Member"),
    ("PJ321", REST, UNCOUNTED, "version", "version += 1"),
    ("PJ401", "| AP-005 | Member | All | - |", "| AP-005 | Member | All | name |", "", "inputs `-`"),
    ("PJ402", "| AP-002 | Member | By mail (admin) | email |", "| AP-002 | Member | admin | name |", "`email`", "add the read"),
    ("PJ403", "(loanCount += 1)", "(name = x)", "", "counter"),
    ("PJ404", "By mail (admin)", "By mail", "", "audit"),
    ("PJ405", "### Loan", "### Session\n\n- **Attributes**:\n  - `sessionId` (uuid, generated)\n\n### Loan", "Session", "ttl"),
    ("PJ406", "status = OUT, dueOn <", "dueOn <", "Loan", "add the read"),
    ("PJ407", "## Entities", "## Context\n\n- **Tenant**: libraryId\n\n## Entities", "libraryId", "except Login"),
]  # fmt: skip


def broken(old: str, new: str) -> str:
    assert old in SOUND
    text = SOUND.replace(old, new, 1)
    if "(datetime, ttl)" in new:
        text = text.replace("dueOn < |", "dueOn < now |")
    if "delete Loan[] | Yes" in new:
        text = text.replace("at most 20 per Member", "at most 120 per Member")
    if "goneAt" in new:
        text = text.replace("`dueOn` (date)\n", "`dueOn` (date)\n  - `goneAt` (integer, optional, ttl)\n")
    if new in (VANS, SAME_REGION):
        given, condition = ("", "region = NORTH") if new == SAME_REGION else (", region", "-")
        row = f"| AP-023 | Member | Load | memberId, parcelId, vanId{given} | {LOAD} | Yes | {condition} | Cold |\n"
        text = text.replace("| AP-022 |", f"{row}| AP-022 |")
    if new == "- Member\n":  # both entities as bullets, below `## Entities`
        text = text.replace("### Loan\n", "- Loan\n")
    if "### Session" in new:
        text = text.replace(
            "| AP-022 |", "| AP-019 | Session | Sign in | sessionId | create Session | No | - | Cold |\n| AP-022 |"
        )
    return text


def test_sound_document_has_no_diagnostics() -> None:
    assert read_text(SOUND, "md").diagnostics == ()


@pytest.mark.parametrize(
    ("code", "old", "new", "at", "fix"), CASES, ids=lambda v: v if re.fullmatch(r"PJ\d+", str(v)) else ""
)
def test_mistake_is_reported_with_place_and_fix(code: str, old: str, new: str, at: str, fix: str) -> None:
    text = broken(old, new)
    found = [d for d in read_text(text, "md").diagnostics if d.code == code]
    assert found, f"{code} is not reported, but {read_text(text, 'md').diagnostics}"
    diagnostic = next((d for d in found if fix in d.fix), found[0])
    assert fix in diagnostic.fix
    assert diagnostic.message
    if at:
        line = text.split("\n")[diagnostic.line - 1]
        assert line[diagnostic.column - 1 :].startswith(at), (diagnostic, line[diagnostic.column - 1 :])


SHELF = "### Shelf\n\n- **Attributes**:\n  - `shelfId` (string, FLAG)\n\n## Access Patterns"
# How writes use an entity that no pattern reads, with its id; and whether it is reported.
ONLY_WRITTEN = [
    ("natural", "create Shelf", "delete Shelf", "-", False),
    ("generated", "create Shelf", "delete Shelf", "-", True),
    ("natural", "create Shelf", "", "-", True),
    ("natural", "create Shelf", "", "Shelf not exists", False),
    ("natural", "put Shelf", "", "Shelf exists", False),
    ("generated", "put Shelf", "", "Shelf.shelfId <> x", False),
    ("natural", "put Shelf", "delete Shelf", "-", False),
    ("natural", "create Shelf", "", "shelfId unique", True),
]


@pytest.mark.parametrize(("flag", "write", "delete", "condition", "reported"), ONLY_WRITTEN)
def test_an_item_that_only_writes_need_may_have_no_read(
    flag: str, write: str, delete: str, condition: str, reported: bool
) -> None:
    text = broken("## Access Patterns", SHELF.replace("FLAG", flag))
    row = f"| AP-023 | Shelf | Take | shelfId | {write} | No | {condition} | Cold |\n"
    if delete:
        row += f"| AP-024 | Shelf | Release | shelfId | {delete} | No | - | Cold |\n"
    text = text.replace("\n### Deletes", f"{row}\n### Deletes")
    codes_found = {d.code for d in read_text(text, "md").diagnostics}
    assert ("PJ311" in codes_found) is reported


VAN = "`region` (string, immutable)\n  - `load`"
# Ways to name the entity of `region`: a text of the document and its replacement.
WHOSE = [
    {"| Yes | - | Cold |": "| Yes | Van.region = region | Cold |"},
    {"| AP-023 | Member |": "| AP-023 | Van, Member |"},
    {VAN: VAN.replace("immutable", "immutable, copy of Parcel.region")},
    {VAN: VAN.replace("region", "area")},
    {VAN: VAN.replace("immutable", "mutable"), "(load += 1)": "(load += 1, region)"},
    {"update Van (load += 1)": "create Van"},
]


@pytest.mark.parametrize("edits", WHOSE)
def test_input_with_a_known_owner_is_not_reported(edits: dict[str, str]) -> None:
    text = broken("### Loan", VANS)
    assert "PJ220" in {d.code for d in read_text(text, "md").diagnostics}
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    assert not {"PJ213", "PJ220"} & {d.code for d in read_text(text, "md").diagnostics}


@pytest.mark.parametrize("asked", ["dueOn <", "dueOn > now", "dueOn <= now + 7 days", "dueOn last 7 days", "dueOn"])
def test_comparison_that_can_match_live_items_is_not_reported(asked: str) -> None:
    text = SOUND.replace("`dueOn` (date)", "`dueOn` (datetime, ttl)").replace("dueOn < |", f"{asked} |")
    assert "PJ221" not in {d.code for d in read_text(text, "md").diagnostics}
    other = broken("`dueOn` (date)\n", "`dueOn` (datetime, ttl)\n").replace("(datetime, ttl)", "(datetime)")
    assert "PJ221" not in {d.code for d in read_text(other, "md").diagnostics}


def unreadable(tmp_path: Path) -> list[Diagnostic]:
    file = tmp_path / "access-patterns.md"
    file.write_bytes(b"# caf\xe9")
    return list(read_file(file).diagnostics)


def test_binary_file_is_reported_as_unreadable(tmp_path: Path) -> None:
    assert [(d.code, d.fix) for d in unreadable(tmp_path)] == [("PJ100", "save it as UTF-8")]


@pytest.mark.parametrize(
    ("text", "form", "line", "part"),
    [
        ("title: x\nentities: 7\n", "yaml", 2, "expected `array`"),
        ("title: x\nentities:\n- nam: User\n", "yaml", 3, "unknown field `nam`"),
        ("title: [\n", "yaml", 2, "node content"),
        ('{"title": "x",\n\t"reads": [{"id": 1}]}', "json", 2, "expected `str`"),
        ('{"title": "x"', "json", 1, ""),
        ("title: x\ntitle: y\n", "yaml", 2, "is there twice"),
    ],
)
def test_invalid_data_is_reported_with_its_place(text: str, form: str, line: int, part: str) -> None:
    (diagnostic,) = read_text(text, form).diagnostics  # type: ignore[arg-type]
    assert (diagnostic.code, diagnostic.line) == ("PJ140", line)
    assert part in diagnostic.message


def test_every_code_has_a_case_here() -> None:
    shown = {case[0] for case in CASES} | {"PJ100", "PJ140"}
    assert shown == set(codes.CATALOGUE), set(codes.CATALOGUE) - shown


@pytest.mark.parametrize(
    ("inputs", "items", "condition", "stays"),
    [
        ("loanId, version", "update Loan (status = BACK)", "version = version", True),
        ("loanId, version", "update Loan (status = BACK, version)", "version = version", True),
        ("loanId, version", "update Loan (status = BACK, version = version)", "version = version", True),
        ("Loan", "put Loan", "version = version", True),
        ("loanId, version, next", "update Loan (status = BACK, version = next)", "version = version", False),
        ("loanId, version", "update Loan (status = BACK, version += 1)", "version = version", False),
        ("Loan, old", "put Loan", "version = old", False),
        ("loanId, version", "delete Loan", "version = version", False),
    ],
)
def test_a_version_is_counted_only_if_it_changes(inputs: str, items: str, condition: str, stays: bool) -> None:
    row = next(line for line in UNCOUNTED.splitlines() if "Return | loanId, version |" in line)
    cells = row.split("|")
    items_at = next(at for at, cell in enumerate(cells) if "update Loan" in cell)
    condition_at = next(at for at, cell in enumerate(cells) if "version = version" in cell)
    cells[items_at], cells[condition_at] = f" {items} ", f" {condition} "
    changed = "|".join(cells).replace("loanId, version |", f"{inputs} |")
    text = SOUND.replace(REST, UNCOUNTED.replace(row, changed))
    assert ("PJ321" in {d.code for d in read_text(text, "md").diagnostics}) is stays


UNREADABLE_CELLS = {
    "Entity": "Loan %%",
    "Input Parameters": "name = = 3",
    "Result": "Sngl %%",
    "Items Written": "frobnicate Loan",
    "Items Deleted": "frobnicate Loan",
    "Conditions": "Loan not not exists )",
}


@pytest.mark.parametrize("column", UNREADABLE_CELLS)
def test_a_cell_that_cannot_be_read_is_the_only_error_of_its_pattern(column: str) -> None:
    lines = SOUND.splitlines()
    names: list[str] = []
    tried = 0
    for index, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "ID":
            names = cells
        if not cells[0].startswith("AP-") or column not in names:
            continue
        cells[names.index(column)] = UNREADABLE_CELLS[column]
        document = [*lines[:index], f"| {' | '.join(cells)} |", *lines[index + 1 :]]

        diagnostics = read_text("\n".join(document), "md").diagnostics
        errors = [finding for finding in diagnostics if finding.severity is Severity.ERROR]

        assert [error.line for error in errors] == [index + 1], errors
        tried += 1
    assert tried
