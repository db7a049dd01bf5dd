"""Keys as people write them: plain numbers where no order depends on them, parents before children."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.design.test_cardinality import helpdesk
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.document.write_document import write_document
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.proof.prove import prove
from prejoin.types import Kind, Type
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

DOCUMENT = """# Games

## Entities

### User

- **Attributes**:
  - `userId` (integer, generated)

### Score

- **Attributes**:
  - `userId` (integer, id, → User)
  - `gameId` (integer, id)
  - `points` (integer, immutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User, Score | userId | Collection | - | No | 10/s | Collection |
| AP-002 | Score | gameId | Collection | points DESC | Yes (10) | 10/s | No |
{more}"""
BY_GAME = "| AP-003 | Score | userId | Collection | gameId ASC | Yes (10) | 10/s | No |\n"


def games(more: str = "") -> Workload:
    return read_text(DOCUMENT.format(more=more), "md").workload


def keys(design: Design) -> set[str]:
    return {" / ".join((*f.pk, *f.sk)) for item in design.items for f in item.facets}


def test_numbers_are_plain_where_no_order_depends_on_them() -> None:
    workload = games()
    design = solve(workload).design
    assert keys(design) == {
        "USER#{userId:plain} / USER",
        "USER#{userId:plain} / SCORE#{gameId:plain}",
        "GAME#{gameId:plain} / SCORE#{points}#{userId:plain}",
    }
    assert not [one.message for one in check_design(design, workload) if "sorts as text" in one.message]
    with Embedded() as engine:
        assert prove(workload, design, engine).right


def test_a_number_that_something_is_sorted_by_keeps_its_order() -> None:
    workload = games(BY_GAME)
    design = solve(workload).design
    assert "USER#{userId:plain} / SCORE#{gameId}" in keys(design)
    with Embedded() as engine:
        assert prove(workload, design, engine).right


def bounded(gameId: str = "max 9999", points: str = "max 500", more: str = BY_GAME) -> Workload:  # noqa: N803
    text = DOCUMENT.format(more=more)
    text = text.replace("`gameId` (integer, id)", f"`gameId` (integer, id, {gameId})")
    return read_text(text.replace("`points` (integer,", f"`points` (integer, {points},"), "md").workload


def test_a_number_with_a_bound_is_padded_where_items_are_sorted_by_it() -> None:
    workload = bounded()
    design = solve(workload).design
    assert keys(design) == {
        "USER#{userId:plain} / USER",
        "USER#{userId:plain} / SCORE#{gameId:04d}",
        "GAME#{gameId:plain} / SCORE#{points:03d}#{userId:plain}",
    }
    assert not [one for one in check_design(design, workload) if one.code == "PJ529"]
    with Embedded() as engine:
        assert prove(workload, design, engine).right
    page = write_document(design, workload)
    assert "writes 42 as `0042`" in page
    assert "SCORE#0001" in page


def test_a_number_that_may_be_negative_is_not_padded() -> None:
    for bound in ("min -1, max 9999", "min 1"):
        assert "USER#{userId:plain} / SCORE#{gameId}" in keys(solve(bounded(bound)).design)


def test_a_number_with_a_bound_is_padded_in_a_sort_key_even_if_nothing_is_sorted_by_it() -> None:
    assert "USER#{userId:plain} / SCORE#{gameId:04d}" in keys(solve(bounded(more="")).design)
    assert "USER#{userId:plain} / SCORE#{gameId:plain}" in keys(solve(bounded("min -1, max 9999", more="")).design)


def test_a_design_in_use_is_not_padded_later_and_says_if_it_is_too_narrow() -> None:
    before = solve(games(BY_GAME)).design
    assert keys(solve(bounded(), before).design) == keys(before)
    narrow, wider = solve(bounded()).design, bounded("max 10000")
    grown = solve(wider, narrow).design
    assert keys(grown) == keys(narrow)
    assert [one.code for one in check_design(grown, wider) if one.severity == "error"] == ["PJ529"]


def test_a_value_beyond_the_bound_is_refused_before_it_is_written() -> None:
    with pytest.raises(KeyValueError, match="10000 does not fit into 4 digits"):
        Template.of("SCORE#{gameId:04d}", {"gameId": Type(Kind.INTEGER)}).build({"gameId": 10_000})


def test_a_design_in_use_keeps_how_its_numbers_are_written() -> None:
    before = solve(games()).design
    assert keys(before) <= keys(solve(games(BY_GAME), before).design)
    old = read_text(DOCUMENT.format(more="## Decisions\n\n- User has key `USER#{userId}` and `USER`\n"), "md").workload
    written = keys(solve(old).design)
    assert all("userId:plain" not in key for key in written)
    # A decided key says nothing about other numbers.
    assert {key for key in keys(before) if "userId" not in key} <= written
    assert any("gameId:plain" in key for key in written)


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL])
@given(data=st.data())
def test_plain_numbers_read_back_and_no_two_look_alike(kind: Kind, data: st.DataObject) -> None:
    whole = st.integers(-(10**20), 10**20)
    numbers = whole if kind is Kind.INTEGER else whole | st.decimals(-1000, 1000, places=4)
    template = Template.of("N#{n:plain}", {"n": Type(kind)})
    one, other = data.draw(numbers), data.draw(numbers)
    written, again = template.build({"n": one}), template.build({"n": other})
    assert (written == again) == (one == other)
    assert template.parse(written)["n"] == one
    if isinstance(one, int):
        assert written == f"N#{one}"


def test_plain_is_for_numbers_and_has_no_order() -> None:
    assert Template.of("N#{n:plain}", {"n": Type(Kind.DECIMAL)}).build({"n": Decimal("1E+2")}) == "N#100"
    for spec, kind in (("plain", Kind.STRING), ("plain,desc", Kind.INTEGER)):
        with pytest.raises(TemplateError, match="plain"):
            Template.of(f"{{n:{spec}}}", {"n": Type(kind)})


def test_parents_come_before_children_in_a_partition() -> None:
    design = solve(helpdesk()).design
    pks = {item.entity: item.facets[0].pk[0] for item in design.items}
    assert pks["Ticket"] == pks["Comment"] == "TENANT#{tenantId}#TICKET#{ticketId}"
    other = read_text(
        (Path(__file__).parents[2] / "examples/shop/access-patterns.md").read_text(encoding="utf-8"), "md"
    ).workload
    assert "USER#{userId}" in {f.pk[0] for item in solve(other).design.items for f in item.facets}


def test_alphabetical_order_changes_nothing() -> None:
    """`accountId` comes before `zoneId` in the alphabet; here the zone has the accounts."""
    text = """# Zones

## Entities

### Zone

- **Attributes**:
  - `zoneId` (ulid, generated)

### Account

- **Attributes**:
  - `zoneId` (ulid, id, → Zone)
  - `accountId` (ulid, generated)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| AP-001 | Account | zoneId, accountId | Single | 10/s |
"""
    design = solve(read_text(text, "md").workload).design
    account = design.item("Account")
    assert account is not None
    assert account.facets[0].pk == ("ZONE#{zoneId}#ACCOUNT#{accountId}",)
