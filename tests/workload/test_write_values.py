"""Changes and conditions of writes that would have no effect, or could never be true, are errors with a way on."""

from __future__ import annotations

import pytest

from prejoin.diagnostics import Severity
from prejoin.workload.files import read_text
from prejoin.workload.lookup import changes
from prejoin.workload.program.resolved_write import resolve_write

DOCUMENT = """# Seats

## Entities

### Seat

- **Attributes**:
  - `seatId` (string, natural)
  - `holderId` (string, optional, mutable)
  - `n` (integer, mutable)
  - `share` (decimal, mutable)
  - `tags` (set of string, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Seat | get | seatId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Seat | write | {inputs} | {items} | {transaction} | {conditions} |
"""


def errors(inputs: str, items: str, conditions: str = "-", transaction: str = "No") -> list[tuple[str, str]]:
    """The code and the fix of each error."""
    text = DOCUMENT.format(inputs=inputs, items=items, conditions=conditions, transaction=transaction)
    return [(d.code, d.fix) for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]


@pytest.mark.parametrize("transaction", ["No", "Yes"])
@pytest.mark.parametrize(
    ("inputs", "items"),
    [
        ("seatId", "update Seat (n = 1, n = 2)"),
        ("seatId", "update Seat (n += 1, n -= 1)"),
        ("seatId", "update Seat (n += 1, n += 1)"),
        ("seatId", "update Seat (n = 1, n += 1)"),
        ("seatId, n", "update Seat (n, n = 2)"),
        ("seatId, n", "update Seat (n, n)"),
        ("seatId", "update Seat (n += 1); update Seat (n += 1)"),
        ("seatId", "update Seat (n += 1); update Seat (n = 2)"),
        ("seatId, tag", "update Seat (append tags = tag, remove tags)"),
        ("seatId", "upsert Seat (n = 1, n = 2, share = 1)"),
        ("seatId[]", "update Seat[] (n = 1, n = 2)"),
        ("Seat", "create Seat (n = 1, n = 2)"),
        ("Seat", "put Seat (n = 1, n = 2)"),
    ],
)
def test_an_attribute_is_changed_once(inputs: str, items: str, transaction: str) -> None:
    name = "tags" if "tags" in items else "n"
    assert ("PJ212", f"write one change of `{name}`") in errors(inputs, items, transaction=transaction)


@pytest.mark.parametrize(
    ("inputs", "items"),
    [
        ("seatId", "update Seat (n = 1, share = 2)"),
        ("seatId", "update Seat (n += 1); update Seat (share = 2)"),
        ("fromSeatId, toSeatId", "update Seat by fromSeatId (n -= 1); update Seat by toSeatId (n += 1)"),
    ],
)
def test_two_attributes_and_two_items_are_changed(inputs: str, items: str) -> None:
    assert errors(inputs, items, transaction="Yes") == []


@pytest.mark.parametrize("condition", ["-", "n > 0", "exists"])
@pytest.mark.parametrize("verb", ["update Seat", "upsert Seat"])
def test_an_update_changes_something(verb: str, condition: str) -> None:
    (fix,) = [fix for code, fix in errors("seatId", verb, condition) if code == "PJ317"]
    assert fix == f"write `{verb} (attribute, …)`"
    (fix,) = [fix for code, fix in errors("Seat", verb, condition) if code == "PJ317"]
    assert "`put Seat`" in fix
    assert "PJ317" not in dict(errors("seatId, n", verb, condition))


AMOUNTS = {
    ("n", "amount < 0"): True,
    ("n", "amount <= 0"): True,
    ("n", "amount < 1"): True,
    ("n", "amount <= -5; amount <> 7"): True,
    ("n", "amount < 2"): False,
    ("n", "amount <= 1"): False,
    ("n", "amount <> 0"): False,
    ("n", "amount < 0; amount >= -5"): False,
    ("n", "amount between -5 and -1"): False,
    ("n", "amount = 0"): False,
    ("share", "amount < 0"): True,
    ("share", "amount <= 0"): True,
    ("share", "amount < 0.5"): False,
    ("share", "amount <= 0.5"): False,
}
"""Conditions on the amount of `-= amount`, with whether they allow none that is more than 0."""


def test_an_amount_can_be_more_than_0() -> None:
    for (attribute, condition), is_refused in AMOUNTS.items():
        found = errors("seatId, amount", f"update Seat ({attribute} -= amount)", condition)
        assert [code for code, _ in found] == ["PJ212"] * is_refused, (attribute, condition)
        assert errors("seatId, amount", f"update Seat ({attribute} += amount)", condition) == []


def test_an_upsert_that_only_creates_compares_no_stored_item() -> None:
    assert errors("seatId, n, share", "upsert Seat (n, share)", "not exists") == []
    assert errors("seatId, n, share", "upsert Seat (n, share)", "n > 3") == []
    for condition in ("Seat.n > 3", "holderId exists", "holderId not exists", "holderId = abc"):
        found = errors("seatId, n, share", "upsert Seat (n, share)", f"not exists; {condition}")
        assert [code for code, _ in found] == ["PJ212"], condition
        assert "`create Seat`" in found[0][1]


def test_a_checked_item_that_must_be_absent_has_no_attributes() -> None:
    for condition, codes in (("Seat not exists", []), ("Seat not exists; Seat.n > 3", ["PJ212"])):
        text = DOCUMENT.replace("## Access Patterns", PERSON)
        row = "| AP-010 | Person, Seat | write | Person | create Person | Yes | CONDITION |\n"
        text = text[: text.index("| AP-010")] + row.replace("CONDITION", condition)
        assert [d.code for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == codes


PERSON = """### Person

- **Attributes**:
  - `personId` (string, natural)
  - `seatId` (string, immutable, → Seat)

## Access Patterns"""


@pytest.mark.parametrize("number", ["1e3", "2E2", "1000", "5e0"])
def test_an_integer_may_have_an_exponent(number: str) -> None:
    assert errors("seatId", f"update Seat (n = {number})") == []
    assert errors("seatId", "update Seat (holderId = x)", f"n >= {number}") == []


@pytest.mark.parametrize("number", ["1e-3", "15e-1", "1.5", "1.0e3"])
def test_an_integer_has_no_fraction(number: str) -> None:
    assert [code for code, _ in errors("seatId", f"update Seat (n = {number})")] == ["PJ207"]


# --- Absent values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["null", "None", "NULL", "nil", "none"])
def test_null_is_no_value(word: str) -> None:
    """`holderId = null` would write and compare the text "null"."""
    (change,) = errors("seatId", f"update Seat (holderId = {word})")
    assert change == ("PJ207", f'write `remove holderId`; the text is written `"{word}"`')
    (number,) = errors("seatId", f"update Seat (n = {word})")
    assert number == ("PJ207", "write `remove n`")
    for items, inputs in WRITES.items():
        for comparison, meant in (("=", "not exists"), ("<>", "exists")):
            found = errors(inputs, items, f"holderId {comparison} {word}")
            assert found == [("PJ207", f'write `holderId {meant}`; the text is written `"{word}"`')], (
                items,
                comparison,
            )
        assert errors(inputs, items, f'holderId = "{word}"') == []
        both = errors(inputs, items, f'holderId = "{word}"; holderId <> {word}')
        assert {code for code, _ in both} == {"PJ207", "PJ212"}  # it is no value, and they exclude each other
    assert errors("seatId", f'update Seat (holderId = "{word}")') == []
    assert errors(f"seatId, {word}", f"update Seat (holderId = {word})") == []


WRITES = {
    "create Seat": "Seat",
    "put Seat": "Seat",
    "update Seat (n = 1)": "seatId",
    "upsert Seat (n = 1, share = 1)": "seatId",
    "delete Seat": "seatId",
}
"""Items written with each verb, and the inputs that they need."""


def test_null_is_no_value_of_a_read_and_no_default() -> None:
    for inputs, meant in (("filter holderId = null", "not exists"), ("filter holderId <> None", "exists")):
        row = f"| AP-002 | Seat | some | {inputs} | Collection |\n\n### Writes"
        text = DOCUMENT.format(inputs="Seat", items="create Seat", conditions="-", transaction="No")
        found = read_text(text.replace("\n### Writes", row), "md").diagnostics
        assert [d.fix.split(";")[0] for d in found if d.code == "PJ207"] == [f"write `holderId {meant}`"]
    text = DOCUMENT.replace("(string, optional, mutable)", "(string, mutable, default=null)")
    assert "PJ207" in {d.code for d in read_text(text, "md").diagnostics}


def test_null_may_be_a_member_of_an_enum() -> None:
    text = DOCUMENT.replace("(string, optional, mutable)", "(NONE | SOME, mutable)")
    text = text.format(
        inputs="seatId", items="update Seat (holderId = NONE)", conditions="holderId <> NONE", transaction="No"
    )
    assert [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == []


# --- Bounds -------------------------------------------------------------------------------------------------------------

BOUNDED = {
    # implied by the bounds 1 to 9, or possible within them
    "n > 0": "",
    "n >= -5": "",
    "n <= 100": "",
    "n < 10": "",
    "n <> 0": "",
    "n between 0 and 100": "",
    "n between 9 and 20": "",
    "n > 8": "",
    "n < 2": "",
    # never true
    "n > 9": "`max 10`",
    "n >= 10": "`max 10`",
    "n < 1": "`min 0`",
    "n <= 0": "`min 0`",
    "n <= -3": "`min -3`",
    "n = 0": "`min 0`",
    "n = 10": "`max 10`",
    "n between 10 and 20": "`max 10`",
    "n between -5 and 0": "`min 0`",
    "n in (5, 10)": "`max 10`",
}
"""Comparisons of a number from 1 to 9, with the bound that the message says; empty if there is none."""


@pytest.mark.parametrize("items", WRITES)
def test_only_a_comparison_that_is_never_true_contradicts_the_bounds(items: str) -> None:
    for condition, bound in BOUNDED.items():
        document = DOCUMENT.replace("`n` (integer, mutable)", "`n` (integer, mutable, min 1, max 9)")
        text = document.format(inputs=WRITES[items], items=items, conditions=condition, transaction="No")
        found = [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]
        assert [d.code for d in found] == ["PJ207"] * bool(bound), condition
        assert all(bound in d.fix for d in found), condition


@pytest.mark.parametrize("sign", ["+=", "-="])
def test_an_amount_has_the_type_of_the_number_and_not_its_bounds(sign: str) -> None:
    document = DOCUMENT.replace("`n` (integer, mutable)", "`n` (integer, mutable, min 0, max 5)")
    for condition in ("amount >= -50", "amount <= 100", "amount between -50 and 100", "amount in (7, 70)"):
        text = document.format(
            inputs="seatId, amount", items=f"update Seat (n {sign} amount)", conditions=condition, transaction="No"
        )
        assert [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == [], condition
    text = document.format(inputs="seatId, to", items="update Seat (n = to)", conditions="to >= 6", transaction="No")
    assert [d.code for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == ["PJ207"]


# --- Expired items ------------------------------------------------------------------------------------------------------


def test_a_condition_that_only_expired_items_fulfil() -> None:
    """Updates and deletes do not find expired items. A put replaces them, so that it may take a lock over."""
    document = DOCUMENT.replace("`tags` (set of string", "`endsAt` (integer, ttl, mutable)\n  - `tags` (set of string")
    for items, inputs in WRITES.items():
        items, inputs = (
            items.replace("share = 1", "share = 1, endsAt"),
            f"{inputs}, endsAt" if "upsert" in items else inputs,
        )
        for condition in ("endsAt <= now", "endsAt < now", "Seat.endsAt between now - 7 days and now"):
            text = document.format(inputs=inputs, items=items, conditions=condition, transaction="No")
            codes = {d.code for d in read_text(text, "md").diagnostics} & {"PJ212", "PJ221"}
            assert codes == ({"PJ221"} if items.startswith(("put", "create")) else {"PJ212"}), (items, condition)
        text = document.format(inputs=inputs, items=items, conditions="endsAt > now", transaction="No")
        assert [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == [], items


# --- Inputs that name another item --------------------------------------------------------------------------------------

JOBS = """# Jobs

## Entities

### Depot

- **Attributes**: `depotId` (string, natural), `visits` (integer, mutable)

### Job

- **Attributes**: `jobId` (string, natural), `depotId` (string, {flag}, → Depot), `title` (string, mutable), `day` (date, immutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Job | get | jobId | Single |
| AP-002 | Depot | depot | depotId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Job, Depot | write | {inputs} | {items} | Yes |
"""


def _changed(flag: str, items: str, inputs: str = "jobId, depotId, title") -> list[str]:
    """The attributes that a bare update of a job changes, or the fixes of its errors."""
    reading = read_text(JOBS.format(flag=flag, items=items, inputs=inputs), "md")
    found = [d.fix for d in reading.diagnostics if d.severity is Severity.ERROR]
    write = reading.workload.writes[0]
    job = reading.workload.entity("Job")
    assert job is not None
    action = next(action for action in write.actions if action.entity == "Job")
    return found or [change.attribute for change in changes(write, action, job)]


def test_an_input_that_names_another_item_is_no_new_value() -> None:
    assert _changed("immutable", "update Job; update Depot (visits += 1)") == ["title"]
    assert _changed("immutable", "update Depot (visits += 1); update Job") == ["title"]
    assert _changed("mutable", "update Job; update Depot (visits += 1)") == ["depotId", "title"]
    listed = "list what changes: `update Job (title)`; or mark it `mutable`"
    assert _changed("immutable", "update Job") == [listed]
    assert _changed("mutable", "update Job", "jobId, title, day") == [listed]
    assert _changed("immutable", "update Job (depotId)") == ["mark it `mutable`, or leave the change out"]


# --- Times --------------------------------------------------------------------------------------------------------------


def test_a_time_with_an_offset_is_in_quotes() -> None:
    document = DOCUMENT.replace("`tags` (set of string", "`dueAt` (datetime, mutable)\n  - `tags` (set of string")
    for items, condition in (
        ("update Seat (n = 1)", "dueAt > {}"),
        ("update Seat (n = 1)", "n > 0; dueAt between 2030-01-01T10:00:00Z and {}"),
        ("update Seat (dueAt = {})", "-"),
    ):
        bare, quoted = "2030-01-02T10:00:00+02:00", '"2030-01-02T10:00:00+02:00"'
        for time, fixes in ((bare, [f"write it in quotes, `{quoted}`"]), (quoted, [])):
            text = document.format(
                inputs="seatId", items=items.format(time), conditions=condition.format(time), transaction="No"
            )
            assert [d.fix for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == fixes


def test_a_part_that_only_expired_items_fulfil() -> None:
    """Beside an `or` it is superfluous. `not (…)` of it is true for all items that are found."""
    document = DOCUMENT.replace("`tags` (set of string", "`endsAt` (integer, ttl, mutable)\n  - `tags` (set of string")
    expected = {
        "n = 5 or endsAt < now": {"PJ221"},
        "not (endsAt < now)": set(),
        "n = 5 and not (endsAt <= now)": set(),
        "n = 5 and endsAt < now": {"PJ212"},
        "(n = 5 or n = 6) and endsAt < now": {"PJ212"},
        "endsAt < now or endsAt between now - 7 days and now": {"PJ212"},
        "not (endsAt > now)": set(),
    }
    for items in ("update Seat (n = 7)", "delete Seat"):
        for condition, wanted in expected.items():
            text = document.format(inputs="seatId", items=items, conditions=condition, transaction="No")
            codes = {d.code for d in read_text(text, "md").diagnostics} & {"PJ212", "PJ221"}
            assert codes == wanted, (items, condition)


# --- Constants and attributes -------------------------------------------------------------------------------------------


def test_a_quoted_constant_may_have_the_name_of_an_attribute_that_is_compared_beside_it() -> None:
    document = DOCUMENT.replace(
        "`n` (integer, mutable)", "`n` (integer, mutable)\n  - `nick` (string, optional, mutable)"
    )
    document = document.replace(
        "`n` (integer, mutable)", "`n` (integer, mutable)\n  - `label` (string, optional, mutable)"
    )
    for condition in (
        'label = "nick" or nick = "x"',
        'nick exists; label <> "nick"',
        'not (nick in ("label", "a or b"))',
    ):
        text = document.format(inputs="seatId", items="update Seat (n = 7)", conditions=condition, transaction="No")
        assert [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == [], condition
    text = document.format(inputs="seatId", items="update Seat (n = 7)", conditions="n < n", transaction="No")
    errors = [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]
    assert [(d.code, d.message) for d in errors] == [("PJ207", "`n` is compared with itself")]


def test_an_input_that_a_condition_compares_is_not_the_value_of_its_attribute() -> None:
    """`n <= n` compares the stored number with the input; only `n = n`, on its own, says that they are equal."""
    known_values = {
        "Seat.n = n": True,
        "Seat.n <= n": False,
        "Seat.n = n or share = 1": False,
        "not (Seat.n = n)": False,
    }
    for condition, is_known in known_values.items():
        text = DOCUMENT.format(inputs="seatId, n", items="delete Seat", conditions=condition, transaction="No")
        workload = read_text(text, "md").workload
        write = next(one for one in (*workload.writes, *workload.deletes) if one.checks)
        assert ("n" in resolve_write(workload, write).steps[0].known) is is_known, condition


@pytest.mark.parametrize(
    "items", ["update Seat (n)", "update Seat (n += n)", "update Seat (n -= n)", "upsert Seat (n = n, share = 1)"]
)
def test_a_list_is_no_value_of_one_item(items: str) -> None:
    assert errors("seatId, n[]", items) == [("PJ246", "write the input `n`")]


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_one_item_is_not_compared_with_a_list(op: str) -> None:
    more = ", or `n in (least)`" if op == "=" else ""
    assert errors("seatId, least[]", "update Seat (n = 1)", f"n {op} least") == [
        ("PJ246", f"write the input `least`{more}")
    ]
    assert errors("seatId, least[]", "update Seat (n = 1)", "n in (least)") == []


def test_a_list_or_a_set_takes_several_values() -> None:
    assert errors("seatId, tags[]", "update Seat (tags)") == []


ORDERS = """# Orders

## Entities

### Order

- **Attributes**:
  - `orderId` (string, natural)
  - `total` (integer, mutable)

### Line

- **Attributes**:
  - `orderId` (string, id, → Order)
  - `lineNo` (integer, id)
  - `qty` (integer, mutable)

### Product

- **Attributes**:
  - `productId` (string, natural)
  - `stock` (integer, mutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Order | order | orderId | Single |
| AP-002 | Product | product | productId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Order, Line, Product | write | {inputs} | {items} | Yes | - |
"""
GIVEN_LINES = [
    (
        "orderId, Line[]",
        "create Line[]; update Order (total += qty)",
        "PJ207",
        "give the value as an input of its own: `update Order (total += amount)`",
        ("orderId, Line[], amount", "create Line[]; update Order (total += amount)"),
    ),
    (
        "orderId, Line[], productId[]",
        "create Line[]; update Product[] (stock -= qty)",
        "PJ207",
        "add `qty[]` to the inputs, beside `Line[]`, with the ids of the items to change",
        ("orderId, Line[], productId[], qty[]", "create Line[]; update Product[] (stock -= qty)"),
    ),
    (
        "orderId, Line[]",
        "update Line[] (qty -= qty)",
        "PJ207",
        "give ids and values in place of `Line[]`: `lineNo[], qty[]`",
        ("orderId, lineNo[], qty[]", "update Line[] (qty -= qty)"),
    ),
    (
        "Line[], qty[]",
        "update Line[] (qty -= qty)",
        "PJ212",
        "give ids in place of the objects: `lineNo[], qty[]`",
        ("orderId, lineNo[], qty[]", "update Line[] (qty -= qty)"),
    ),
]


@pytest.mark.parametrize(("inputs", "items", "code", "fix", "fixed"), GIVEN_LINES)
def test_an_attribute_of_given_objects_is_no_input(
    inputs: str, items: str, code: str, fix: str, fixed: tuple[str, str]
) -> None:
    def found(inputs: str, items: str) -> list[tuple[str, str]]:
        diagnostics = read_text(ORDERS.format(inputs=inputs, items=items), "md").diagnostics
        return [(one.code, one.fix) for one in diagnostics if one.severity is Severity.ERROR]

    assert found(inputs, items) == [(code, fix)]
    assert found(*fixed) == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("limit <= fromId.n", "fromId.n >= limit"),
        ("limit < fromId.n or fromId.tags exists", "fromId.n > limit or fromId.tags exists"),
        ("not (limit = toId.n)", "not (toId.n = limit)"),
        ("limit <= Seat.n", "Seat.n >= limit"),
    ],
)
def test_an_input_may_stand_on_either_side_of_an_item(left: str, right: str) -> None:
    items = "update Seat by fromId (n -= 1); update Seat by toId (n += 1)"
    readings = [
        read_text(DOCUMENT.format(inputs="fromId, toId, limit", items=items, conditions=text, transaction="Yes"), "md")
        for text in (left, right)
    ]
    assert [d.message for d in readings[0].diagnostics if d.severity is Severity.ERROR] == []
    first, second = (resolve_write(reading.workload, reading.workload.writes[0]) for reading in readings)
    assert first.write.checks == second.write.checks
    assert first.unsettled_conditions == ()


# --- What is missing in a row -------------------------------------------------------------------------------------------

HISTORY = DOCUMENT.replace("  - `tags`", "  - `version` (integer, mutable)\n  - `tags`").replace(
    "\n## Access Patterns", "- **History**: all versions\n\n## Access Patterns"
)


@pytest.mark.parametrize(
    ("document", "inputs", "items", "conditions", "code", "fix"),
    [
        (DOCUMENT, "seatId", "update Seat (share = 1)", "n = n", "PJ207", "add `n` to the Input Parameters"),
        (HISTORY, "seatId", "update Seat (n = 1)", "version = version", "PJ207", "add `version` to the Input"),
        (DOCUMENT, "seatId, version", "update Seat (n = 1)", "version = version", "PJ202", "give Seat a **History**"),
        (DOCUMENT, "seatId", "update Seat (n = 1)", "version = version", "PJ202", "give Seat a **History**"),
        (DOCUMENT, "seatId", "update Seat (n = 1)", "most > 0", "PJ202", "or add `most` to the Input Parameters"),
        (DOCUMENT, "Item[]", "create Seat[]", "-", "PJ201", "write `Seat[]`"),
        (DOCUMENT, "seatId, Item[]", "delete Seat", "-", "PJ201", "write `Seat[]`"),
        (DOCUMENT, "Seat", "create Seat (n = share - 1)", "-", "PJ130", "compute it in the application"),
        (DOCUMENT, "seatId, add", "update Seat (n = add * 2)", "-", "PJ130", "compute it in the application"),
    ],
)
def test_one_message_says_what_a_row_lacks(
    document: str, inputs: str, items: str, conditions: str, code: str, fix: str
) -> None:
    text = document.format(inputs=inputs, items=items, conditions=conditions, transaction="No")
    errors = [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]
    assert [d.code for d in errors] == [code]
    assert fix in errors[0].fix


def test_new_items_of_a_list_that_follow_an_attribute_need_its_value_as_an_input() -> None:
    document = DOCUMENT.replace("  - `tags`", "  - `label` (string, mutable, follows Hall.label)\n  - `tags`").replace(
        "### Seat\n\n- **Attributes**:\n", "### Seat\n\n- **Attributes**:\n  - `hallId` (string, → Hall)\n"
    )
    hall = "### Hall\n\n- **Attributes**:\n  - `hallId` (string, natural)\n  - `label` (string, mutable)\n\n"
    document = document.replace("## Access Patterns", f"{hall}## Access Patterns")
    read = "| AP-001 | Seat | get | seatId | Single |\n"
    document = document.replace(read, f"{read}| AP-002 | Seat | of a hall | hallId | Collection |\n")
    expected = {
        ("hallId, Seat[]", "-"): "add `label` to the Input Parameters, and the condition `Hall.label = label`",
        ("hallId, Seat[]", "Hall.label = label"): "add `label` to the Input Parameters",
        ("hallId, Seat[], label", "Hall.label = label"): "",
    }
    for (inputs, conditions), fix in expected.items():
        text = document.format(inputs=inputs, items="create Seat[]", conditions=conditions, transaction="Yes")
        text = text.replace("| AP-010 | Seat |", "| AP-010 | Seat, Hall |")
        errors = [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]
        assert [d.fix[: len(fix)] for d in errors] == ([fix] if fix else [])
