"""Several tables: what a split keeps, what it loses, and which of one and several tables is advised."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin.design.whatif.comparison import compare_tables
from prejoin.design.whatif.split import Loss, Split, needs_own_table, split_tables
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.render.infrastructure.options import Infrastructure, Stream
from prejoin.render.infrastructure.stack import stack_of
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_file, read_text
from prejoin.workload.grammar.statements import read_pin
from prejoin.workload.model import Decision, Read, Result, Workload, Write

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])
BANK = """
# Bank

## Entities

### Account

- **Attributes**:
  - `accountId` (uuid, generated)
  - `balance` (decimal, mutable)
- **Cardinality**: 10K total
- **Size**: 300 B

### Payment

- **Attributes**:
  - `paymentId` (ulid, generated)
  - `accountId` (uuid, immutable, → Account)
  - `amount` (decimal, immutable)
  - `at` (datetime, immutable)
- **Relationships**:
  - Account 1:N Payment via accountId
- **Cardinality**: ~100 per Account
- **Size**: 200 B

### Visit

- **Attributes**:
  - `accountId` (uuid, id, → Account)
  - `at` (datetime, id)
- **Cardinality**: ~20 per Account
- **Size**: 100 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Account, Payment | accountId | Collection | Payment.at DESC | No | 5/s | Collection |
| AP-002 | Payment, Account | paymentId | Collection | - | No | 1/s | Join |
| AP-003 | Visit | accountId | Collection | at DESC | Yes (20) | 5/s | No |
| AP-004 | Account, Visit | accountId | Collection | - | No | 1/s | Collection |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Payment, Account | paymentId, accountId, amount, at | create Payment; update Account (balance -= amount) | Yes | Account.balance >= amount | 10/s |
| AP-021 | Visit | accountId, at | create Visit | No | - | 5/s |
| AP-022 | Account | accountId, balance | create Account | No | - | Cold |

## Decisions

- {decision}
"""


def bank(decision: str) -> Workload:
    reading = read_text(BANK.format(decision=decision), "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    return reading.workload


def parts(split: Split) -> dict[str, Workload]:
    return {part.name: part.workload for part in split.parts}


def read(workload: Workload, id_: str) -> Read:
    found = workload.pattern(id_)
    assert isinstance(found, Read)
    return found


def test_entities_without_needs_stay_together() -> None:
    split = split_tables(bank("Payment needs its own restore and stream"))
    assert [(part.name, part.entities, part.needs) for part in split.parts] == [
        ("Payment", ("Payment",), ("restore", "stream")),
        ("rest", ("Account", "Visit"), ()),
    ]


def test_entities_of_one_statement_share_a_table() -> None:
    split = split_tables(bank("Payment and Account need their own restore"))
    assert [part.entities for part in split.parts] == [("Payment", "Account"), ("Visit",)]
    assert [(c.pattern, c.loss) for c in split.crossings] == [("AP-004", Loss.REQUEST)]


def test_patterns_over_several_tables_are_named_with_their_loss() -> None:
    split = split_tables(bank("Payment needs its own restore"))
    assert {c.pattern: c.loss for c in split.crossings} == {
        "AP-001": Loss.REQUEST,
        "AP-002": Loss.REQUEST,
        "AP-020": Loss.TRANSACTION,
    }


def test_read_of_several_tables_becomes_one_for_each() -> None:
    found = parts(split_tables(bank("Payment needs its own restore")))
    collection = read(found["Payment"], "AP-001")
    assert (collection.entities, collection.combine, collection.result) == (("Payment",), None, Result.MANY)
    assert [s.attribute for s in collection.sort] == ["at"]
    account = read(found["rest"], "AP-001")
    assert (account.entities, account.result, account.sort) == (("Account",), Result.ONE, ())
    joined = read(found["rest"], "AP-002")
    assert [(i.attribute, i.many) for i in joined.inputs] == [("accountId", True)]


def test_write_of_several_tables_becomes_one_for_each() -> None:
    found = parts(split_tables(bank("Payment needs its own restore")))
    create, pay = found["Payment"].pattern("AP-020"), found["rest"].pattern("AP-020")
    assert isinstance(create, Write)
    assert isinstance(pay, Write)
    assert [i.attribute for i in create.inputs] == ["paymentId", "accountId", "amount", "at"]
    assert (create.checks, create.atomic) == ((), False)
    assert [i.attribute for i in pay.inputs] == ["accountId", "amount"]
    assert [check.entity for check in pay.checks] == ["Account"]


def test_figures_do_not_change_although_they_follow_from_another_table() -> None:
    payment = parts(split_tables(bank("Payment needs its own restore")))["Payment"].entity("Payment")
    assert payment is not None
    assert {(c.count, c.per) for c in payment.cardinality} == {(100, "accountId"), (1_000_000, "")}
    assert [a.references for a in payment.attributes] == [""] * 4


def test_several_tables_are_advised_if_no_transaction_crosses() -> None:
    found = compare_tables(bank("Visit needs its own replication"))
    assert found.separate
    assert found.text[0].startswith("Several tables: ")
    assert "AP-004 would send a request to each table" in found.text[-1]
    assert found.dollars == pytest.approx(sum(table.dollars for table in found.several))


def test_one_table_is_advised_if_a_transaction_crosses() -> None:
    found = compare_tables(bank("Payment needs its own restore"))
    assert not found.separate
    assert found.in_the_way == ("AP-020",)
    assert found.text[0].startswith("One table: AP-020")


@pytest.mark.parametrize("decision", ["Payment needs its own restore", "Payment and Account need their own stream"])
def test_designs_of_all_tables_are_proven(decision: str) -> None:
    for workload in parts(split_tables(bank(decision))).values():
        with Embedded() as engine:
            assert prove(workload, solve(workload).design, engine).right


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_every_split_of_our_documents_gives_documents_without_errors(path: Path) -> None:
    workload = read_file(path).workload
    for entity in workload.entities:
        own = Decision(read_pin(f"`{entity.name}` needs its own restore"))
        split = split_tables(replace(workload, decisions=(*workload.decisions, own)))
        assert {name for part in split.parts for name in part.entities} == {e.name for e in workload.entities}
        for part in split.parts:
            if part.workload.patterns:
                reading = read_text(write_document(part.workload), "md")
                assert [d for d in reading.diagnostics if d.severity == "error"] == [], (entity.name, part.name)
                assert reading.workload.entities == part.workload.entities


@pytest.mark.slow
def test_own_stream_is_in_the_infrastructure_of_its_table_only() -> None:
    whole = bank("Payment needs its own stream and restore")
    found = parts(split_tables(whole))
    assert not needs_own_table(found["Payment"])
    for workload, view in (
        (whole, "NEW_AND_OLD_IMAGES"),
        (found["Payment"], "NEW_AND_OLD_IMAGES"),
        (found["rest"], None),
    ):
        stack = stack_of(workload, solve(workload).design, Infrastructure())
        assert stack.options.stream == view
        assert (stack.consumer is not None) is (view is not None)
    chosen = stack_of(whole, solve(whole).design, Infrastructure(stream=Stream.KEYS_ONLY))
    assert chosen.options.stream is Stream.KEYS_ONLY
    restored = bank("Payment needs its own restore")
    assert stack_of(restored, solve(restored).design, Infrastructure()).options.stream is None
