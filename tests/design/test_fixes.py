"""Whoever does what a message about a design says is rid of it: each fix is made in the example that has the mistake."""

from __future__ import annotations

import pytest
from tests.design.test_checks import (
    BRANCH,
    BY_BOOK,
    CASES,
    COPY,
    DOCUMENT,
    GSI1,
    GUARDS,
    KEYS,
    LISTED,
    LOAN,
    SCANS_OF_VERSIONS,
    SIGN_IN,
    Edits,
    asked,
    decides,
    design_of,
    index,
    loan,
    put,
    read,
    told,
    update,
    workload_of,
    write,
)

from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.diagnostics import Diagnostic, Severity

Fix = tuple[Edits, Edits]
"""Edits of the sound document and of the sound design: the mistake with its fix made."""
SOUND: Fix = ((), ())
"""The fix is what the sound design has."""
FEE = loan("`fee` (integer)")
SHELF = loan("`shelf` (string, optional)")
SCAN = "`scan` (binary, 500 KB)"
ADVICE = {
    "PJ561": "an index that moves is right where it is worth it",
    "PJ590": "the client uses placeholders: nothing has to be done",
}
"""Hints that say how to live with it; the message stays."""


def by_book(*more: tuple[str, str]) -> Edits:
    return (("\n### Writes", f"{BY_BOOK}\n### Writes"), *more)


# By code, one entry for each case in the order of `CASES`.
FIXED: dict[str, list[Fix]] = {
    "PJ510": [SOUND],
    "PJ511": [((), ((BRANCH, BRANCH.replace("{dueOn}#", "{book}#")), ("{book}#{loanId}", "{dueOn}#{book}#{loanId}")))],
    "PJ512": [((FEE,), ((GUARDS, GUARDS + "rawKeys: true\n"), (LOAN, 'sk: ["LOAN#{fee:06d}#{loanId}"]')))],
    "PJ513": [((), ((GUARDS, GUARDS + "rawKeys: true\n"), (LOAN, 'sk: ["LOAN#{dueOn:YYYY-MM-DD}#{loanId}"]')))],
    "PJ514": [((loan("`fee` (number)"),), ((LOAN, 'sk: ["LOAN#{fee}#{loanId}"]'),))],
    "PJ515": [SOUND],
    "PJ516": [((SHELF,), ((LOAN, 'sk: ["LOAN#{shelf?}#{loanId}"]'),))],
    "PJ517": [SOUND],
    "PJ518": [((loan("`day` (date, immutable)"),), ((LOAN, 'sk: ["LOAN#{day}#{loanId}"]'),))],
    "PJ519": [
        (
            (("### Loan\n", "### Fee\n\n- **Attributes**:\n  - `feeId` (ulid, generated)\n\n### Loan\n"),),
            (("guards:", '  - {entity: Fee, tag: Fee, facets: [{slot: table, pk: ["FEE#{feeId}"], sk: ["FEE"]}]}\nguards:'),),
        )
    ],
    "PJ520": [SOUND],
    "PJ521": [
        (
            (("loanId` (ulid, generated)", "loanId` (string, natural)"),),
            ((GUARDS, GUARDS + "  - {entity: Loan, attributes: [loanId]}\n"),),
        )
    ],
    "PJ522": [((("`dueOn` (date,", "`dueDate` (date,"), ("dueOn", "dueDate")), (("dueOn", "dueDate"),))],
    "PJ523": [((("`book` (string, immutable)", "`book` (string, immutable, 2 KB)"),), ())],
    "PJ524": [((), ((LOAN, 'sk: ["LOAN#{book}#{loanId}"]'),))],
    "PJ525": [((), ((GUARDS, GUARDS + "rawKeys: true\n"), (LOAN, 'sk: ["LOAN#{loanId}"]')))],
    "PJ526": [((loan("`language` (string, mutable, default=en)"),), CASES[[c[0] for c in CASES].index("PJ526")][2])],
    "PJ527": [
        (CASES[[c[0] for c in CASES].index("PJ527")][1], (*index("gsi2", "Loan", "LANGUAGE#{language}", "{loanId}"),))
    ],
    "PJ528": [SOUND],
    "PJ565": [
        SOUND,
        ((loan("`fee` (integer, optional, mutable)"),), CASES[[c[0] for c in CASES].index("PJ565")][2]),
    ],
    "PJ529": [
        ((loan("`fee` (integer, immutable, max 1000)"),), ((LOAN, 'sk: ["LOAN#{fee:04d}#{loanId}"]'),)),
        ((loan("`fee` (integer, immutable, min -1, max 9)"),), ((LOAN, 'sk: ["LOAN#{fee}#{loanId}"]'),)),
    ],
    "PJ530": [(by_book(), index("gsi2", "Loan", "BOOK#{book}", "{loanId}"))],
    "PJ531": [
        (
            ((LISTED, "| by book | memberId | Collection | book ASC"),),
            index("gsi2", "Loan", "M#{memberId}", "{book}#{loanId}"),
        )
    ],
    "PJ532": [
        (
            next(c for c in CASES if c[0] == "PJ532")[1],
            index("gsi2", "Loan", "B#{branchId}", "{book}#{loanId}"),
        )
    ],
    "PJ533": [((), ())],
    "PJ534": [((), ())],
    "PJ535": [
        (
            next(c for c in CASES if c[0] == "PJ535")[1],
            index("gsi2", "Loan", "B#{book}#{memberId}", "{loanId}"),
        )
    ],
    "PJ536": [SOUND],
    "PJ537": [((), (asked("AP-003", "call: Query, entities: [Loan]"),))],
    "PJ538": [
        (
            (),
            (
                asked("AP-003", "call: Query, entities: [Loan], sk: begins_with LOAN#"),
                next(c for c in CASES if c[0] == "PJ538")[2][1],
            ),
        )
    ],
    "PJ539": [((), (asked("AP-001", "call: GetItem, entities: [Member]"),))],
    "PJ540": [
        (next(c for c in CASES if c[0] == "PJ540")[1], ((BRANCH, BRANCH.replace("{dueOn}", "{book}")),)),
    ],
    "PJ541": [
        (
            (
                ("branchId, dueOn < | Collection | dueOn ASC | Yes (20)", "branchId, book | Collection | - | Yes (20)"),
                ("~10K total", "~2M per branchId, ~200M total"),
            ),
            ((BRANCH, BRANCH.replace("{dueOn}", "{book}")),),
        )
    ],
    "PJ542": [((("| of a branch | branchId, dueOn <", "| overdue | branchId, dueOn <"),), ())],
    "PJ543": [
        (
            (
                loan("`endsAt` (datetime, optional, ttl)"),
                ("| by due date | memberId |", "| by due date | memberId, filter endsAt > now |"),
            ),
            ((GUARDS, GUARDS + "ttlAttribute: endsAt\n"),),
        )
    ],
    "PJ544": [((), ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{loanId:shard(4)}")),))],
    "PJ545": [((), next(c for c in CASES if c[0] == "PJ545")[2][1:])],
    "PJ546": [
        (
            (
                (LISTED, "| of a book | memberId, book | Collection | -"),
                ("| back | memberId, dueOn, loanId,", "| back | memberId, book, dueOn, loanId,"),
                ("| forget | memberId, dueOn, loanId |", "| forget | memberId, book, dueOn, loanId |"),
            ),
            ((LOAN, 'sk: ["LOAN#{book}#{dueOn}#{loanId}"]'),),
        )
    ],
    "PJ550": [SOUND],
    "PJ564": [SOUND],
    "PJ551": [
        (
            (("memberId, dueOn, loanId, loanState", "memberId, dueOn, loanId, book, loanState"),),
            next(c for c in CASES if c[0] == "PJ551")[2],
        )
    ],
    "PJ552": [
        (
            (),
            (
                (BRANCH, BRANCH.replace("{dueOn}", "{loanState}#{dueOn}")),
                update('SET loanState = {loanState}", "SET gsi1sk = {loanState}#{dueOn}#{loanId}'),
            ),
        )
    ],
    "PJ553": [
        (
            by_book(),
            (
                (GUARDS, COPY + GUARDS),
                (
                    GUARDS,
                    f"{GUARDS}operations:\n  - {{pattern: AP-012, requests: [{{call: TransactWriteItems, actions: ["
                    '{action: Update, item: Loan, pk: x, changes: ["SET loanState = {loanState}"]}, '
                    '{action: Update, item: Loan/by-book, pk: y, changes: ["SET loanState = {loanState}"]}]}]}\n',
                ),
            ),
        )
    ],
    "PJ554": [
        (
            (
                loan("`lender` (string, mutable, copy of Member.fullName)"),
                write(
                    "| AP-013 | Member | rename | memberId, fullName | update Member (fullName); "
                    "update Loan[] (lender = fullName) | No | - | Cold |"
                ),
            ),
            (),
        )
    ],
    "PJ563": [
        (
            (
                loan("`friendId` (uuid, → Member)"),
                loan("`friend` (string, mutable, follows Member.fullName via friendId within 1 minute)"),
                read("| AP-006 | Loan | of a friend | friendId | Collection | - | Yes (20) | Warm | Eventual | No |"),
            ),
            index("gsi2", "Loan", "FRIEND#{friendId}", "{loanId}"),
        ),
        ((loan("`lender` (string, mutable, follows Member.fullName within 1 minute)"),), ()),
    ],
    "PJ555": [
        (
            (
                ("update Member (loanCount += 1)", "update Member (loanCount += 1, fullName)"),
                ("| lend | Loan |", "| lend | Loan, fullName |"),
            ),
            (),
        )
    ],
    "PJ556": [((("~5 per Member", "at most 50 per Member"), ("create Loan; update", "create Loan[]; update")), ())],
    "PJ557": [
        (
            (
                ("~5 per Member, ~10K total", "at most 50 per Member, ~10K total"),
                ("create Loan; update", "create Loan[]; update"),
            ),
            (),
        )
    ],
    "PJ569": [((("| forget | memberId, dueOn, loanId | delete Loan |", "| forget | memberId | delete Loan[] |"),), ())],
    "PJ558": [
        (
            (loan("`views` (integer, optional, mutable)"), ("update Loan (loanState)", "update Loan (views += 1)")),
            (update(change),),
        )
        for change in (
            "ADD views 1",
            "SET views = list_append(if_not_exists(views, []), {views})",
            "ADD views {views}",
        )
    ],
    "PJ559": [((), (put("AP-011", "TransactWriteItems"),))],
    "PJ560": [
        (
            (("loanId` (ulid, generated)", "loanId` (string, natural)"),),
            (
                (
                    GUARDS,
                    f"{GUARDS}operations:\n  - {{pattern: AP-011, requests: [{{call: PutItem, actions: [{{action: Put, "
                    'item: Loan, pk: x, conditions: ["attribute_not_exists(pk)"]}]}]}\n',
                ),
            ),
        )
    ],
    "PJ570": [
        (
            next(c for c in CASES if c[0] == "PJ570")[1],
            ((BRANCH, BRANCH.replace("BRANCH#{branchId}", "LOANS#{dueOn:day}#{loanId:shard(6)}")),),
        )
    ],
    "PJ571": [
        (
            next(c for c in CASES if c[0] == "PJ571")[1],
            ((BRANCH, BRANCH.replace("BRANCH#{branchId}", "LOANS#{loanId:shard(4)}")),),
        )
    ],
    "PJ572": [
        (
            (("~5 per Member", "unbounded per Member"),),
            index("gsi2", "Loan", "MEMBER#{memberId}", "{loanState}#{loanId}"),
        )
    ],
    "PJ573": [((("~5 per Member", "unbounded per Member"), loan("`endsAt` (datetime, ttl)")), ((GUARDS, GUARDS + "ttlAttribute: endsAt\n"),))],
    "PJ574": [((loan("`scan` (content, immutable, 500 KB)"),), ())],
    "PJ575": [((loan("`scan` (content, immutable, 200 KB)"),), ())],
    "PJ576": [((("email unique | Cold", "email unique | 10/s"), ("~2K total", "~2M total")), ())],
    "PJ580": [SOUND],
    "PJ581": [SOUND],
    "PJ582": [SOUND],
    "PJ583": [(by_book(), index("gsi2", "Loan", "X#{book}", "{loanId}"))],
    "PJ584": [SOUND],
    "PJ585": [SOUND],
    "PJ586": [
        (
            next(c for c in CASES if c[0] == "PJ586")[1],
            ((GSI1, GSI1.replace("]}\n", "], projection: {kind: INCLUDE, attributes: [dueOn, loanId, memberId]}}\n")),),
        )
    ],
    "PJ587": [SOUND],
    "PJ588": [
        *(((decides("at most 1 GSIs"),), ()) for _ in range(3)),
        ((decides("no copies for Loan"),), ()),
        ((decides("at most 4 shards"),), ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{loanId:shard(4)}")),)),
        ((decides("no shards for Loan"),), ()),
        ((decides("Loan in 8 shards"),), ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{loanId:shard(8)}")),)),
        ((decides("Loan in buckets of a year"),), ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{dueOn:year}")),)),
        ((decides("no buckets"),), ()),
        ((decides("the table is named `shop`"),), (("table: library", "table: shop"),)),
        ((), ()),
    ],
    "PJ589": [SOUND],
    "PJ591": [SOUND],
    "PJ592": [((loan("`endsAt` (integer, optional, ttl)"),), ((GUARDS, GUARDS + "ttlAttribute: endsAt\n"),))],
    "PJ593": [SOUND, SOUND],
    "PJ594": [
        ((), ((GUARDS, GUARDS + "rawKeys: true\n"), ('pk: ["MEMBER#{memberId}"]', 'pk: ["{memberId}"]'))),
    ],
    "PJ595": [SOUND],
    "PJ596": [SOUND],
    "PJ597": [SOUND],
    "PJ598": [SOUND],
    "PJ599": [
        ((decides("Loan in 8 shards"),), ((BRANCH, BRANCH.replace("{branchId}", "{branchId}#{loanId:shard(8)}")),)),
        SOUND,
        ((decides("Loan lives under Member"),), ()),
        (
            (decides("Loan has key `X#{book}` and `X` in gsi9"),),
            index("gsi9", "Loan", "X#{book}", "X"),
        ),
    ],
    "PJ600": [SOUND],
    "PJ601": [((decides("AP-002 is out of scope"), ("| sign in | email |", "| full-text search in names | email |")), ())],
    "PJ602": [((decides("AP-002 is out of scope"), ("| sign in | email |", "| dashboard | email |")), ())],
    "PJ603": [
        ((decides("AP-003 is out of scope"), *next(c for c in CASES if c[0] == "PJ603")[1]), ()),
    ],
    "PJ604": [SOUND],
    "PJ605": [((loan("`scanUrl` (string, immutable, 100 B)"),), ())],
    "PJ606": [(SCANS_OF_VERSIONS[:2], ())],
}  # fmt: skip
ELSEWHERE = {"PJ547", "PJ562"}
"""These need designs that were solved: test_sparse.py."""


def serious(said: list[Diagnostic]) -> set[str]:
    return {d.code for d in said if d.severity is not Severity.HINT}


def numbered() -> list[tuple[str, int, Edits, Edits, str]]:
    seen: dict[str, int] = {}
    found = []
    for code, document, keys, part in CASES:
        if code not in ADVICE:
            found.append((code, seen.get(code, 0), document, keys, part))
            seen[code] = seen.get(code, 0) + 1
    return found


@pytest.mark.parametrize(
    ("code", "number", "document", "keys", "part"), numbered(), ids=[f"{case[0]}-{case[1]}" for case in numbered()]
)
def test_fix_removes_the_diagnostic(code: str, number: int, document: Edits, keys: Edits, part: str) -> None:
    before = told(document, keys)
    about = {d.message for d in before if d.code == code and (part in d.message or part in d.fix)}
    after = told(*FIXED[code][number])
    assert about
    assert not about & {d.message for d in after}
    assert not {d.code for d in after if d.severity is Severity.ERROR} - serious(before), after


@pytest.mark.parametrize("number", range(len(FIXED["PJ558"])))
def test_each_way_to_start_a_counter_is_accepted(number: int) -> None:
    assert "PJ558" not in {d.code for d in told(*FIXED["PJ558"][number])}


@pytest.mark.parametrize(
    ("type_", "change", "fix"),
    [
        ("integer", "SET views = views + 1", "ADD views 1"),
        ("list of string", "SET views = list_append(views, {views})", "list_append(if_not_exists(views, []), {views})"),
        ("set of string", "SET views = list_append(views, {views})", "ADD views {views}"),
    ],
)
def test_the_fix_of_a_counter_is_one_for_its_type(type_: str, change: str, fix: str) -> None:
    action = "views += 1" if type_ == "integer" else "append views"
    document = (
        loan(f"`views` ({type_}, optional, mutable)"),
        ("memberId, dueOn, loanId, loanState", "memberId, dueOn, loanId, views"),
        ("update Loan (loanState)", f"update Loan ({action})"),
    )
    (said,) = [d for d in told(document, (update(change),)) if d.code == "PJ558"]
    assert fix in said.fix
    # What we write ourselves for it is not complained about.
    workload = workload_of(document)
    ours = map_patterns(design_of(), workload)
    assert "PJ558" not in {d.code for d in check_design(ours, workload)}


def test_every_code_has_an_example_with_its_fix() -> None:
    checked = {code for code in codes.CATALOGUE if "PJ510" <= code < "PJ620"}
    assert set(FIXED) | set(ADVICE) | ELSEWHERE == checked
    counts = {code: sum(case[0] == code for case in CASES) for code in FIXED}
    assert {code: count for code, count in counts.items() if len(FIXED[code]) < count} == {}


def test_the_sound_example_is_sound() -> None:
    assert told((), ()) == []
    assert KEYS
    assert SIGN_IN in DOCUMENT
