"""Generated methods uphold the bounds of numbers, and refuse amounts that are not positive."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from tests.render.python.driving import Driver, designed, driven, proven, unproven
from tests.solutions import solve

from prejoin import ConditionFailed, TransactionCancelled
from prejoin.diagnostics import Severity
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.render.python import schema
from prejoin.render.python.package import Options, render_python, repository_methods, repository_tests
from prejoin.render.python.writes import amounts
from prejoin.workload import bounds
from prejoin.workload.files import read_text

DAY = dt.date(2026, 1, 1)


def account(driver: Driver, **values: Any) -> Any:
    usual = {"available": 500, "overdraft": -50, "rate": Decimal(5), "points": Decimal(100)}
    record = replace(driver.record("Account"), **(usual | values))
    driver.repository.new_account(record)
    return record


def part(driver: Driver, stock: int) -> str:
    record = driver.record("Part", stock=stock)
    driver.repository.new_part(record)
    return str(record.part_id)


def spend(driver: Driver, account_id: Any, amounts: list[int]) -> None:
    for amount in amounts:
        driver.repository.spend(account_id, DAY, amount)


CALLS: dict[str, tuple[Callable[[Driver], Any], type[Exception] | tuple[type[Exception], ...] | None]] = {
    "least of an object": (lambda d: account(d, available=0), None),
    "below the least of an object": (lambda d: account(d, available=-1), ValueError),
    "greatest of an object": (lambda d: account(d, available=1000), None),
    "above the greatest of an object": (lambda d: account(d, available=1001), ValueError),
    "optional": (lambda d: account(d, rate=None), None),
    "value set": (lambda d: d.repository.allow(account(d).account_id, -100), None),
    "value set too low": (lambda d: d.repository.allow(account(d).account_id, -101), ValueError),
    "value set too high": (lambda d: d.repository.allow(account(d).account_id, -9), ValueError),
    "negative addition": (lambda d: d.repository.allow_more(account(d).account_id, -50), None),
    "negative addition beyond": (lambda d: d.repository.allow_more(account(d).account_id, -51), ConditionFailed),
    "addition beyond": (lambda d: d.repository.allow_more(account(d).account_id, 41), ConditionFailed),
    "absent number": (lambda d: d.repository.better(account(d, rate=None).account_id), None),
    "addition of 1 beyond": (lambda d: d.repository.better(account(d, rate=Decimal(9)).account_id), ConditionFailed),
    "unbounded": (lambda d: d.repository.use_points(account(d).account_id, Decimal(5000)), None),
    "nothing taken": (lambda d: d.repository.use_points(account(d).account_id, Decimal(0)), ValueError),
    "less than nothing taken": (lambda d: d.repository.use_points(account(d).account_id, Decimal("-0.1")), ValueError),
    "taken to the least": (lambda d: d.repository.take(part(d, 3), 3), None),
    "taken below the least": (lambda d: d.repository.take(part(d, 3), 4), ConditionFailed),
    "amount 0": (lambda d: d.repository.take(part(d, 3), 0), ValueError),
    "negative amount": (lambda d: d.repository.take(part(d, 3), -1000), ValueError),
    "last one": (lambda d: d.repository.take_one(part(d, 1)), None),
    "none left": (lambda d: d.repository.take_one(part(d, 0)), ConditionFailed),
    "argument with bounds": (lambda d: d.repository.pay(account(d).account_id, 20), None),
    "argument below": (lambda d: d.repository.pay(account(d).account_id, 0), ValueError),
    "argument above": (lambda d: d.repository.pay(account(d).account_id, 21), ValueError),
    "upsert creates": (lambda d: spend(d, account(d).account_id, [500]), None),
    "upsert creates too much": (lambda d: spend(d, account(d).account_id, [501]), ConditionFailed),
    "upsert creates below": (lambda d: spend(d, account(d).account_id, [-1]), ConditionFailed),
    "upsert adds": (lambda d: spend(d, account(d).account_id, [300, 200]), None),
    "upsert adds too much": (lambda d: spend(d, account(d).account_id, [300, 201]), ConditionFailed),
    "upsert takes too much": (lambda d: spend(d, account(d).account_id, [300, -301]), ConditionFailed),
}


def test_calls_are_done_or_refused_as_the_bounds_say() -> None:
    with driven(*designed("bounded")) as driver:
        for name, (run, error) in CALLS.items():
            if error is None:
                run(driver)
                continue
            with pytest.raises(error):
                run(driver)
                pytest.fail(f"{name}: not refused")


def test_a_transfer_moves_money_in_one_direction_and_within_both_bounds() -> None:
    with driven(*designed("bounded")) as driver:
        for payer, payee, amount in product((0, 5, 500), (0, 995, 1000), (-400, 0, 4, 5, 6, 500, 501)):
            one, other = account(driver, available=payer), account(driver, available=payee)
            ids = {"fromAccountId": one.account_id, "toAccountId": other.account_id}
            transfer = replace(driver.record("Transfer", **ids), amount=amount)
            valid = amount >= 5 and payer >= amount and payee + amount <= 1000
            if valid:
                driver.repository.transfer(transfer)
            else:
                with pytest.raises(TransactionCancelled if amount >= 5 else ValueError):
                    driver.repository.transfer(transfer)
            moved = amount if valid else 0
            after = [driver.get("Account", account_id=a.account_id).available for a in (one, other)]
            assert after == [payer - moved, payee + moved]
            assert (driver.repository.get_transfer(transfer.transfer_id) is not None) == valid


# --- Which amounts the document allows


DOCUMENT = """# Parts

## Entities

### Part

- **Attributes**: `partId` (string, natural), `stock` (integer, mutable)

### Taking

- **Attributes**: `takingId` (ulid, generated), `partId` (string, immutable, → Part), `n` (integer, immutable{bounds}), `note` (string, immutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Part | get | partId | Single |
| AP-002 | Taking | taking | takingId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Part | new | Part | create Part | No |
| AP-011 | {entities} | take | {inputs} | {actions} | Yes |
"""
LEAST = {"": 1, ", min 1": 1, ", min 3": 3, ", min 0": 0, ", min -2": -2, ", max 2": 0}
"""The least amount that may be taken, by the bounds of the attribute that the input is."""
ROWS = {
    "alone": ("Part", "partId, n", "update Part (stock -= n)"),
    "argument": ("Part, Taking", "partId, n", "update Part (stock -= n)"),
    "object": ("Part, Taking", "Taking", "create Taking; update Part (stock -= n)"),
    "list": ("Part", "partId[], n[]", "update Part[] (stock -= n)"),
}


@pytest.mark.parametrize("row", ROWS)
def test_an_amount_taken_away_is_positive_unless_the_document_allows_it(row: str) -> None:
    for bounds_text, least in LEAST.items():
        if row in ("alone", "list") and bounds_text:
            continue  # no attribute of the row
        entities, inputs, actions = ROWS[row]
        text = DOCUMENT.format(bounds=bounds_text, entities=entities, inputs=inputs, actions=actions)
        workload = read_text(text, "md").workload
        with driven(workload, solve(workload).design) as driver:
            for amount in range(-4, 4):
                stored = driver.record("Part", stock=10)
                driver.repository.new(stored)
                taking = driver.record("Taking", partId=stored.part_id)
                if row == "object":
                    arguments: tuple[Any, ...] = (replace(taking, n=amount),)
                elif row == "list":
                    arguments = ([stored.part_id], [amount])
                else:
                    arguments = (stored.part_id, amount)
                is_allowed = amount >= least and not (bounds_text == ", max 2" and amount > 2)
                if is_allowed:
                    driver.repository.take(*arguments)
                else:
                    with pytest.raises(ValueError, match=r"must be (more than 0|at least|at most)"):
                        driver.repository.take(*arguments)
                after = driver.get("Part", part_id=stored.part_id).stock
                assert after == 10 - (amount if is_allowed else 0), (row, bounds_text, amount)


CONDITIONED = """# Parts

## Entities

### Part

- **Attributes**: `partId` (string, natural), `stock` ({kind}, mutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Part | get | partId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Part | new | Part | create Part | No | - |
| AP-011 | Part | take | {inputs} | {actions} | Yes | {condition} |
"""
AMOUNTS: dict[str, Callable[[int], bool]] = {
    # A condition that says nothing of the least amount: it has to be more than 0 all the same.
    "n <= 2": lambda n: 0 < n <= 2,
    "n < 2": lambda n: 0 < n < 2,
    "n <> 0": lambda n: n > 0,
    "n <> 1": lambda n: n > 0 and n != 1,
    "Part.stock >= n": lambda n: n > 0,
    "n <= 2; Part.stock >= n": lambda n: 0 < n <= 2,
    "n >= low": lambda n: n > 0,
    "n between low and 2": lambda n: 0 < n <= 2,
    "n <= high": lambda n: n > 0,
    # A condition that does.
    "n > 0": lambda n: n > 0,
    "n >= 2": lambda n: n >= 2,
    "n >= 0": lambda n: n >= 0,
    "n > -1": lambda n: n > -1,
    "n >= -2": lambda n: n >= -2,
    "n >= -2; n <> 0": lambda n: n >= -2 and n != 0,
    "n between -2 and 2": lambda n: -2 <= n <= 2,
    "n between -2 and high": lambda n: n >= -2,
    "n = 0": lambda n: n == 0,
    "n = -2": lambda n: n == -2,
    "n in (0, 2)": lambda n: n in (0, 2),
    "n in (-2, 2)": lambda n: n in (-2, 2),
}
"""The amounts that may be taken away, by the condition on them; `low` is -3 and `high` is 3."""
TAKINGS = {
    "one": ("partId, n", "update Part (stock -= n)"),
    "two": ("fromPartId, toPartId, n", "update Part by fromPartId (stock -= n); update Part by toPartId (stock += n)"),
}


@pytest.mark.parametrize("kind", ["integer", "decimal"])
@pytest.mark.parametrize("taking", TAKINGS)
def test_only_a_least_value_allows_amounts_that_are_not_positive(taking: str, kind: str) -> None:
    for condition, is_allowed in AMOUNTS.items():
        inputs, actions = TAKINGS[taking]
        others = {"low": -3, "high": 3}
        named = [name for name in others if name in condition]
        said = condition.replace("Part.", "fromPartId.") if taking == "two" else condition
        text = CONDITIONED.format(kind=kind, inputs=", ".join((inputs, *named)), actions=actions, condition=said)
        reading = read_text(text, "md")
        assert [d for d in reading.diagnostics if d.severity is Severity.ERROR] == []
        workload = reading.workload
        number = Decimal if kind == "decimal" else int
        with driven(workload, solve(workload).design) as driver:
            for amount in range(-4, 4):
                parts = [driver.record("Part", stock=number(10)) for _ in inputs.split(", ")[1:]]
                for stored in parts:
                    driver.repository.new(stored)
                given = {name: number(others[name]) for name in named}
                arguments = [*(stored.part_id for stored in parts), number(amount)]
                if is_allowed(amount):
                    driver.repository.take(*arguments, **given)
                else:
                    with pytest.raises((ValueError, ConditionFailed, TransactionCancelled)):
                        driver.repository.take(*arguments, **given)
                moved = amount if is_allowed(amount) else 0
                after = [driver.get("Part", part_id=stored.part_id).stock for stored in parts]
                assert after == [10 - moved, 10 + moved][: len(parts)], (condition, amount)


COMPARED = (*AMOUNTS, "n < high", "n > low", "n <> high", "high >= n", "n <= high; high <= 100", "n >= 5; n < high")


@pytest.mark.parametrize("kind", ["integer", "integer, min 0", "decimal"])
def test_the_generated_test_of_a_condition_on_an_input_passes(kind: str) -> None:
    """Each input that is only compared with another one has its type, and a value with which the condition holds."""
    rows = []
    for number, condition in enumerate(COMPARED):
        if "min 0" in kind and "-2" in condition:
            continue
        named = [name for name in ("low", "high") if name in condition]
        inputs, actions = TAKINGS["one"]
        rows.append(
            f"| AP-{100 + number} | Part | take {number} | {', '.join((inputs, *named))} | {actions} | No | {condition} |\n"
        )
        added = actions.replace("-=", "+=")
        rows.append(
            f"| AP-{200 + number} | Part | add {number} | {', '.join((inputs, *named))} | {added} | No | {condition} |\n"
        )
    head = CONDITIONED[: CONDITIONED.index("| AP-011")].format(kind=kind)
    workload = read_text(head + "".join(rows), "md").workload
    design = solve(workload).design
    tests = repository_tests(workload, design, Options("parts"))
    assert [one.reason for one in tests.values() if one.reason] == []
    result = run_tests(render_python(workload, design, Options("parts")), "parts")
    assert result.failed == {}
    assert len(result.passed) == sum(len(one.names) for one in tests.values()) > len(rows) + 2


@pytest.mark.parametrize("condition", ["n <= 2", "n <> 0", "Part.stock >= n", "n >= low"])
def test_the_proof_finds_a_missing_check_beside_a_condition(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, actions = TAKINGS["one"]
    inputs += ", low" if "low" in condition else ""
    text = CONDITIONED.format(kind="integer", inputs=inputs, actions=actions, condition=condition)
    workload = read_text(text, "md").workload
    design = solve(workload).design
    assert unproven(proven(workload, design)) == []
    monkeypatch.setattr(amounts, "must_be_positive", lambda *_: False)
    assert {pattern for pattern, _, _ in unproven(proven(workload, design))} == {"AP-011"}


# --- The proof finds what is not upheld


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["schema", "positive", "inputs"])
def test_the_proof_finds_code_without_bounds(spoil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, design = designed("bounded")
    assert unproven(proven(workload, design)) == []
    match spoil:
        case "schema":
            monkeypatch.setattr(schema, "is_bounded", lambda attribute: False)
            patterns = {f"AP-0{number}" for number in range(20, 38)} - {"AP-026", "AP-035"}
        case "positive":
            monkeypatch.setattr(amounts, "must_be_positive", lambda *_: False)
            patterns = {"AP-026", "AP-031"}
        case _:
            monkeypatch.setattr(amounts, "input_bounds", lambda *_: (None, None))
            patterns = {"AP-028"}
    assert {pattern for pattern, _, _ in unproven(proven(workload, design))} >= patterns


# --- Types of arguments


def test_an_optional_attribute_is_a_required_argument_of_its_own_type() -> None:
    text = """# Seats

## Entities

### Seat

- **Attributes**: `seatId` (string, natural), `heldBy` (string, optional, mutable), `row` (integer, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Seat | get | seatId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Seat | new | Seat | create Seat | - |
| AP-011 | Seat | hold | seatId, heldBy | update Seat (heldBy) | - |
| AP-012 | Seat | move | seatId, to | update Seat (row = to) | heldBy not exists |
| AP-013 | Seat | free | seatId, heldBy | update Seat (remove heldBy) | heldBy = heldBy |
| AP-014 | Seat | hold all | seatId[], heldBy | update Seat[] (heldBy) | - |
"""
    workload = read_text(text, "md").workload
    methods = repository_methods(workload, solve(workload).design)
    annotations = {param.annotation for method in methods.values() for param in method.params}
    assert not [annotation for annotation in annotations if "None" in annotation and annotation != "str | None"]
    hold = {param.name: param.annotation for param in methods["AP-011"].params}
    assert hold == {"seat_id": "str", "held_by": "str"}
    assert {p.annotation for p in methods["AP-012"].params} == {"str", "int"}
    assert {p.name: p.annotation for p in methods["AP-013"].params} == {"seat_id": "str", "held_by": "str"}


def test_bounds_of_the_document() -> None:
    """`max` alone begins at 0, and an attribute that says when an item ends has no bounds."""
    text = DOCUMENT.format(bounds=", max 2", entities="Part", inputs="partId, n", actions="update Part (stock -= n)")
    workload = read_text(text, "md").workload
    taking = workload.entity("Taking")
    assert taking is not None
    found = {a.name: a.bounds for a in taking.attributes if bounds.is_bounded(a)}
    assert found == {"n": (0, 2)}
