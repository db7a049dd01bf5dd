"""The fix of each message works: it is applied to the broken document, and the message disappears."""

from __future__ import annotations

from functools import cache

import pytest

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload import codes
from prejoin.workload.files import read_text
from tests.workload.test_messages import CASES, SOUND, broken

UNDONE = object()
"""The fix restores the text of the sound document."""
ENTITIES = SOUND.partition("## Entities")[2].partition("## Access")[0]
LOAN = SOUND.partition("### Loan\n\n")[2].partition("- **Rel")[0]
SHELF = "### Shelf\n\n- **Attributes**:\n  - `shelfId` (string, natural)\n"
READ = "| AP-005 | Member |"
Edits = tuple[tuple[str, str], ...]

# By code, one entry for each case in the order of `CASES`: the edits that apply the fix, if the message has no
# replacement.
FOLLOWED: dict[str, list[object]] = {
    "PJ101": [UNDONE],
    "PJ102": [(("> Status: DONE", "> Status: REVIEWED"),)],
    "PJ104": [
        (("## Entities\n", f"## Entities{ENTITIES}"),),
        UNDONE,
        (("- Member\n", "### Member\n\n"), ("- Loan\n", "### Loan\n")),
    ],
    "PJ105": [UNDONE],
    "PJ106": [(("| Strong | No | x |", "| Strong | No |"),)],
    "PJ109": [(("### Removals and the like", "### Deletes"),)],
    "PJ110": [
        UNDONE,
        UNDONE,
        (("mutable, max)", "mutable, max 9999)"),),
        (("mutable, max 2.5)", "mutable, max 20)"),),
    ],
    "PJ111": [(("belongs to a Member", "Member 1:N Loan via memberId"),)],
    "PJ112": [(("quite a lot", "1M total"),)],
    "PJ113": [(("early", "prototype"),)],
    "PJ114": [UNDONE, UNDONE],
    "PJ115": [UNDONE, UNDONE],
    "PJ116": [UNDONE],
    "PJ117": [UNDONE],
    "PJ120": [(("dueOn soon", "dueOn last 7 days"),)],
    "PJ121": [(("| the member |", "| Single |"),)],
    "PJ122": [(("oldest first", "dueOn DESC"),)],
    "PJ123": [(("perhaps", "Yes (20)"),)],
    "PJ124": [(("| often |", "| 250/s |"),)],
    "PJ125": [(("| always |", "| Strong |"),)],
    "PJ126": [(("| maybe |", "| Collection |"),)],
    "PJ130": [(("Loan + Member update", "create Loan; update Member (loanCount += 1)"),)],
    "PJ131": [(("| batch |", "| Yes |"),)],
    "PJ132": [(("not too many", "Member exists"),)],
    "PJ133": [
        (("Loans go under the same key as members", "Loan lives under Member"),),
        (("Loan lives with Member", "Loan lives under Member"),),
        (("minimise cost", "minimise money"),),
        (("Loan in buckets of a week", "Loan in buckets of a day"),),
    ],
    "PJ203": [(("### member", "### Loan"),), (("### Mem_ber", "### Loan"),)],
    "PJ204": [(("`dueon` (date)", "`lentOn` (date)"),)],
    "PJ205": [(("| AP-021 | Loan | Return", "| AP-023 | Loan | Return"),)],
    "PJ206": [(("AP-099 is out", "AP-005 is out"),)],
    "PJ207": [(("status = AWAY", "status = OUT"),), (("min 21", "min 19"),)],
    "PJ208": [
        (("| x | tags | Count", "| x | filter tags contains | Count"),),
        (("filter loanCount contains 1", "filter loanCount = 1"),),
        (("unique, max 80", "unique, 80 B"),),
    ],
    "PJ209": [(("(integer, → Member)", "(uuid, → Member)"),)],
    "PJ210": [(("`loanId` (ulid)", "`loanId` (ulid, id)"),)],
    "PJ211": [(("(uuid, → Member)", "(uuid, → Member.memberId)"),)],
    "PJ212": [
        (("min 9, max 5", "min 5, max 9"),),
        (("| email | Single | - | Yes", "| email | Single | - | No"),),
        (("| goneAt <= now |", "| - |"),),
        (("minimise money\n- ", ""),),
        (("optional, default=2024-01-15", "optional"),),
        (("| Loan not exists |", "| - |"),),
    ],
    "PJ213": [(), (("loanId, Loan.dueOn |", "loanId, dueOn |"), ("| Loan exists |", "| Loan.dueOn = dueOn |"))],
    "PJ214": [(("| Return | loanId | update Loan (loanId)", "| Return | loanId, oldId | delete Loan by oldId; create Loan"), ("| Loan exists |", "| - |"))],
    "PJ215": [(("`joinedAt` (datetime, immutable)", "`joinedAt` (datetime, mutable)"),)],
    "PJ216": [(("(OUT | BACK)", "(OUT | BACK, mutable)"),)],
    "PJ217": [(("### Loan of a book", "### Loan"),)],
    "PJ218": [(("| Return | loanId |", "| Return | loanId, status |"),)],
    "PJ220": [(("| Yes | - | Cold |", "| Yes | Parcel.region = region | Cold |"),)],
    "PJ221": [(("dueOn < now |", "dueOn <= now + 7 days |"),)],
    "PJ222": [
        (("Loan lives under Loan", "Loan lives under Member"),),
        (("- AP-020 may filter\n", ""),),
        (("`M#{memberId` and `L`", "`M#{memberId}` and `L#{loanId}`"),),
        (("Loan has key `L#{loanId}`", "Loan has key `L#{loanId}` and `LOAN`"),),
        (("Loan has key `L#{loanId}` in gsi1", "Loan has key `L#{loanId}` and `LOAN` in gsi1"),),
        (("named `ab`", "named `|`"),),
        (("named `a b`", "named `a-b`"),),
    ],
    "PJ223": [(("**Tenant**: of members", "**Tenant**: companyId"),)],
    "PJ224": [
        (("(integer, mutable, follows", "(string, mutable, follows"),),
        (("(string, follows", "(string, mutable, follows"),),
        (("within 0 seconds", "within 10 seconds"),),
        (("copy of Member.email, ", ""),),
        (("`lender` (uuid, mutable, follows Member.memberId within 1 minute)", "`lender` (uuid, → Member)"),),
        (("(string, unique, mutable, follows", "(string, mutable, follows"),),
        (("(set of string, mutable, follows", "(set of string, optional, mutable, follows"),),
        (("follows Member.name within", "follows Member.name via memberId within"),),
        (
            ("`book` (date, mutable", "`lastLoan` (ulid, optional, → Loan)\n  - `book` (date, mutable"),
            (READ, "| AP-009 | Member | Of a loan | lastLoan | Collection | - | Yes | Cold | Eventual | No |\n| AP-005 | Member |"),
        ),
        ((READ, "| AP-009 | Loan | By another | by | Collection | - | Yes | Cold | Eventual | No |\n| AP-005 | Member |"),),
        (("| Member.loanCount < 20 |", "| Member.loanCount < 20; Member.name = lender |"), ("memberId, dueOn |", "memberId, dueOn, lender |")),
    ],
    "PJ226": [
        (("`dueOn` (date)\n", "`dueOn` (date)\n  - `version` (integer, mutable)\n"),),
        (("0 versions", "20 versions"),),
        (("(integer, optional, mutable)", "(integer, mutable)"),),
        ((", follows Member.name within 1 minute", ""),),
        (("put Loan;", "create Loan;"),),
        ((", version += 1", ""),),
        (("version = 3", "version = version"), ("| Return | loanId |", "| Return | loanId, version |")),
    ],
    "PJ227": [
        (("`dueOn` (date)\n", "`dueOn` (date)\n  - `removedAt` (datetime, optional, mutable)\n"),),
        ((', default="2024-01-01T00:00:00Z"', ""),),
        (("`dueOn` (date)\n", "`dueOn` (date)\n  - `expiresAt` (datetime, optional, mutable, ttl)\n"),),
        ((", unique values are released", ""),),
        ((", follows Member.name within 1 minute", ""),),
        (("  - `scan` (content)\n", ""),),
        ((", removedAt = now", ""),),
        (("removedAt not exists", "Loan exists"),),
    ],
    "PJ230": [
        (("`joinedAt` (datetime, immutable)", "`memberJoinedAt` (datetime, immutable)"),),
        (("  - `removedAt` (datetime, ttl)\n", ""),),
        (("is named `status`", "is named `SK`"),),
    ],
    "PJ241": [(("| Forget | - | delete Loan[] |", "| Forget | memberId | delete Loan[] |"),)],
    "PJ242": [(("| region = NORTH |", "| Parcel.region = NORTH |"),)],
    "PJ244": [(("delete Loan[] | Yes |", "delete Loan[] | No |"),)],
    "PJ243": [(("; delete Loan |", " |"),)],
    "PJ245": [
        (("memberId, dueOn < | delete Loan[] |", "loanId[] | delete Loan[] |"),),
        (("loanId, status = OUT |", "loanId |"), ("| Loan exists |", "| Loan.status = OUT |")),
    ],
    "PJ246": [(("| delete Loan |", "| delete Loan[] |"),)],
    "PJ247": [UNDONE, UNDONE, UNDONE, UNDONE],
    "PJ248": [(("Loan.status = OUT or Member.loanCount < 9", "Loan.status = OUT"),)],
    "PJ301": [(("|  | Member | By mail", "| AP-031 | Member | By mail"),)],
    "PJ302": [(("|  | Single", "| email | Single"),)],
    "PJ303": [(("| email |   |", "| email | Single |"),)],
    "PJ304": [(("| With loans | memberId | Collection | - | No | Warm | Eventual | No |", "| With loans | memberId | Collection | - | No | Warm | Eventual | Collection |"),)],
    "PJ305": [(("| Warm | Eventual | Collection |", "| Warm | Eventual | No |"),)],
    "PJ306": [(("|  | Member.loanCount", "| Yes | Member.loanCount"),)],
    "PJ307": [(("| loanId |  | No |", "| loanId | update Loan (status = BACK) | No |"),)],
    "PJ308": [(("| No |  | Strong |", "| No | Warm | Strong |"),)],
    "PJ309": [(("\n### Loan", "- **Cardinality**: ~100 per Loan, 1M total\n\n### Loan"),)],
    "PJ310": [(("### Loan\n\n", f"### Loan\n\n{LOAN}"),)],
    "PJ311": [((SHELF, ""),)],
    "PJ312": [(("| update Member (loanCount += 1) |", "| create Loan; update Member (loanCount += 1) |"),)],
    "PJ313": [(("`borrower` (uuid)", "`borrower` (uuid, → Member)"), ("via memberId", "via borrower"), ("loanId, memberId, dueOn", "loanId, memberId, borrower, dueOn"))],
    "PJ314": [(("| With loans | memberId | Collection | - | No |", "| With loans | memberId | Collection | - | Yes |"),)],
    "PJ315": [(("| Return | dueOn |", "| Return | dueOn, loanId |"),)],
    "PJ316": [(("| AP-002 |  |", "| AP-002 | Member |"),)],
    "PJ317": [(("| update Loan |", "| update Loan (status = BACK) |"),)],
    "PJ318": [
        (("`memberId` (uuid, → Member)", "`memberId` (uuid, optional, → Member)"), ("`dueOn` (date)", "`dueOn` (date, optional)")),
        (("upsert Member", "update Member"),),
    ],
    "PJ321": [(("(status = BACK)", "(status = BACK, version += 1)"),)],
    "PJ401": [((READ, "| AP-009 | Member | Every | - | Collection | - | Yes | Cold | Eventual | No |\n| AP-005 | Member |"),)],
    "PJ402": [((READ, "| AP-009 | Member | By mail | email | Single | - | No | Cold | Eventual | No |\n| AP-005 | Member |"),)],
    "PJ403": [((READ, "| AP-009 | Loan | How many | memberId | Count | - | No | Cold | Eventual | No |\n| AP-005 | Member |"),)],
    "PJ404": [((READ, "| AP-009 | Member | Export of all | - | Collection | - | Yes | Cold | Eventual | No |\n| AP-005 | Member |"),)],
    "PJ405": [(("`sessionId` (uuid, generated)", "`sessionId` (uuid, generated)\n  - `endsAt` (datetime, ttl)"),)],
    "PJ406": [((READ, "| AP-009 | Loan | Those out | status | Collection | - | Yes | Cold | Eventual | No |\n| AP-005 | Member |"),)],
    "PJ407": [(("**Tenant**: libraryId", "**Tenant**: libraryId, except Member"),)],
}  # fmt: skip
NOT_DOCUMENTS = {"PJ100", "PJ140"}
"""A file that is not text, and data that is not a workload, which no edit of a document can fix."""


def numbered() -> list[tuple[str, int, str, str, str]]:
    seen: dict[str, int] = {}
    found = []
    for code, old, new, _, fix in CASES:
        found.append((code, seen.get(code, 0), old, new, fix))
        seen[code] = seen.get(code, 0) + 1
    return found


@cache
def diagnostics_of(text: str) -> tuple[Diagnostic, ...]:
    return tuple(read_text(text, "md").diagnostics)


def diagnostic_of(text: str, code: str, fix: str) -> Diagnostic:
    found = [d for d in diagnostics_of(text) if d.code == code]
    return next((d for d in found if fix in d.fix), found[0])


def fixed(text: str, diagnostic: Diagnostic) -> str | None:
    """The text with the diagnostic's replacement; None if it has none."""
    if not diagnostic.replacement:
        return None
    lines = text.split("\n")
    line, start = lines[diagnostic.line - 1], diagnostic.column - 1
    assert line.startswith(diagnostic.text, start)
    lines[diagnostic.line - 1] = line[:start] + diagnostic.replacement + line[start + len(diagnostic.text) :]
    return "\n".join(lines)


def serious(text: str) -> set[str]:
    return {d.code for d in diagnostics_of(text) if d.severity is not Severity.HINT}


@pytest.mark.parametrize(
    ("code", "number", "old", "new", "fix"), numbered(), ids=[f"{case[0]}-{case[1]}" for case in numbered()]
)
def test_fix_removes_the_diagnostic(code: str, number: int, old: str, new: str, fix: str) -> None:
    text = broken(old, new)
    diagnostic = diagnostic_of(text, code, fix)
    after = fixed(text, diagnostic)
    if after is None:
        edits = FOLLOWED[code][number]
        after = SOUND if edits is UNDONE else text
        for before, instead in () if edits is UNDONE else edits:  # type: ignore[attr-defined]
            assert before in after, before
            after = after.replace(before, instead, 1)
    left = [(d.code, d.message) for d in diagnostics_of(after)]
    assert (code, diagnostic.message) not in left
    assert serious(after) <= serious(text) - {code}, left


def test_every_code_has_a_document_with_its_fix() -> None:
    cases = {code for code, *_ in CASES}
    mechanical = {
        code for code, number, old, new, fix in numbered() if fixed(t := broken(old, new), diagnostic_of(t, code, fix))
    }
    assert cases == set(codes.CATALOGUE) - NOT_DOCUMENTS
    assert cases <= mechanical | set(FOLLOWED), cases - mechanical - set(FOLLOWED)
    assert len(mechanical) >= 8
