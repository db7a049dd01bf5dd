"""What the document decides is obeyed; what then cannot be is explained by the statements in conflict."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin.design.cost.objective import objective
from prejoin.design.explain import explain_design
from prejoin.design.layout.growth import growth
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import Design, KeyAttribute
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import Solution
from prejoin.design.whatif.conflicts import conflict, conflicts
from prejoin.workload.files import read_file, read_text
from prejoin.workload.grammar.statements import read_pin
from prejoin.workload.model import Consistency, Decision, Workload

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = Path(__file__).parents[1] / "corpus"
WHOLE = read_file(EXAMPLES / "shop" / "access-patterns.md").workload
SPARED = {"AP-005", "AP-010", "AP-021", "AP-024", "AP-025", "AP-030"}
SHOP = replace(
    WHOLE,
    reads=tuple(read for read in WHOLE.reads if read.id not in SPARED),
    writes=tuple(write for write in WHOLE.writes if write.id not in SPARED),
)
"""The example without patterns that no decision here is about: they make each search longer."""
FREE = replace(SHOP, decisions=())


def deciding(*texts: str, workload: Workload = FREE) -> Workload:
    pins = [read_pin(text) for text in texts]
    assert all(pins)
    return replace(workload, decisions=tuple(map(Decision, pins)))


def keys(solution: Solution) -> set[str]:
    return {
        f"{item.entity}{item.copy and '/'}{item.copy} {facet.slot}: {facet.pk[0]} {facet.sk[0]}"
        for item in solution.design.items
        for facet in item.facets
    }


def served(solution: Solution) -> bool:
    return all(operation.served for operation in solution.design.operations)


def test_no_copies_and_no_indexes_are_limits() -> None:
    one = solve(deciding("at most 1 GSIs"))
    assert len(one.design.indexes) == 1
    assert one.design.copies
    assert served(one)
    assert one.score.structures >= solve(FREE).score.structures
    without = solve(deciding("at most 1 GSIs", "no copies"))
    assert not without.design.copies
    assert not served(without)


@pytest.mark.slow
def test_most_frequent_reads_are_served_first() -> None:
    """AP-004 is asked 20 times as often as AP-008; with one structure one of the two goes."""
    solution = solve(deciding("at most 1 structures"))
    lost = {operation.pattern for operation in solution.design.operations if not operation.served}
    assert len(solution.design.indexes) + len(solution.design.copies) == 1
    assert lost == set(solution.chosen.unserved)
    assert "AP-004" not in lost
    assert "AP-008" in lost


def test_an_entity_without_indexes_or_copies() -> None:
    solution = solve(deciding("no GSIs for Order"))
    assert served(solution)
    assert {item.entity for item in solution.design.items for f in item.facets if f.slot != "table"} == {"User"}
    solution = solve(deciding("no copies for Order"))
    assert served(solution)
    assert "Order" not in {item.entity for item in solution.design.copies}


def test_entity_under_a_parent_is_in_its_item_collection() -> None:
    solution = solve(deciding("Order lives under User"))
    assert served(solution)
    assert "Order table: USER#{userId} ORDER#{placedAt}#{orderId}" in keys(solution)


@pytest.mark.slow
def test_a_key_that_is_decided_stays_as_it_is_and_the_others_take_its_words() -> None:
    solution = solve(deciding("Order has key `U#{userId}` and `O#{placedAt}#{orderId}`"))
    assert served(solution)
    found = keys(solution)
    assert {"Order table: U#{userId} O#{placedAt}#{orderId}", "Address table: U#{userId} ADDRESS#{label}"} <= found


def test_a_key_that_is_decided_in_an_index_makes_the_index() -> None:
    solution = solve(deciding("Order has key `S#{status}` and `{placedAt}#{orderId}` in byStatus"))
    assert served(solution)
    assert solution.design.indexes[0].name == "byStatus"
    assert solution.design.operation("AP-008").requests[0].slot == "byStatus"  # type: ignore[union-attr]


@pytest.mark.parametrize("key", ["{email}", "EMAIL#{email}"])
def test_a_decided_key_without_a_sort_key_makes_an_index_without_one(key: str) -> None:
    workload = deciding(f"User has key `{key}` in emailIndex")
    solution = solve(workload)
    index = solution.design.slot("emailIndex")
    assert index
    assert len(index.pk) == 1
    assert index.sk == ()
    inside = {
        item.entity: facet.pk for item in solution.design.items for facet in item.facets if facet.slot == index.name
    }
    assert inside == {"User": (key,)}
    assert misfits(solution.design, workload) == ()
    assert served(solution)
    assert explain_design(workload, solution.design, solution)


def test_a_key_of_one_part_beside_a_key_of_two_is_a_conflict() -> None:
    sentences = ("User has key `{email}` in gsi9", "Order has key `A#{userId}` and `B#{orderId}` in gsi9")
    assert {one.kind for one in conflict(deciding(*sentences))} == {"decision"}
    assert len(conflict(deciding(*sentences))) == 2


def test_a_kept_index_with_a_sort_key_conflicts_with_a_key_that_has_none() -> None:
    kept = solve(FREE).design
    name = kept.indexes[0].name
    entity = next(e.name for e in FREE.entities if (item := kept.item(e.name)) and item.facet(name) is None)
    key = FREE.entity(entity)
    assert key
    found = conflict(deciding(f"{entity} has key `X#{{{key.id[0].name}}}` in {name}"), kept)
    assert {one.kind for one in found} == {"decision", "kept"}


def test_money_before_structures() -> None:
    blog = read_file(EXAMPLES / "blog" / "access-patterns.md").workload
    cheap, few = solve(deciding("minimise money", workload=blog)), solve(replace(blog, decisions=()))
    assert served(cheap)
    assert cheap.score.money < few.score.money
    assert objective(blog, cheap.design).dollars < objective(blog, few.design).dollars
    assert objective(blog, cheap.design) > objective(blog, few.design)


@pytest.mark.parametrize("name", ["aws_bookmarks", "debrie_ecommerce", "electrodb_library"])
def test_designs_of_the_same_price_have_no_needless_structures(name: str) -> None:
    workload = read_file(CORPUS / name / "access-patterns.md").workload
    cheap, few = solve(deciding("minimise money", workload=workload)), solve(workload)
    assert objective(workload, cheap.design).complexity <= objective(workload, few.design).complexity


def test_shards_are_as_many_as_somebody_decided() -> None:
    solution = solve(deciding("Order in 8 shards"))
    assert any("{orderId:shard(8)}" in key for key in keys(solution))
    assert not any(":day}" in key for key in keys(solution))
    solution = solve(deciding("Order in buckets of a month"))
    assert any("{placedAt:month}" in key for key in keys(solution))


def test_a_pattern_that_may_use_a_scan_needs_no_key() -> None:
    solution = solve(deciding("AP-009 may use a scan"))
    assert solution.score.structures < solve(FREE).score.structures
    assert not any("ALL#ORDER" in key for key in keys(solution))


# --- What cannot be -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_conflict_names_the_statements_and_none_too_many() -> None:
    workload = deciding("no GSIs", "no copies")
    found = conflicts(workload)
    assert [str(one) for one in found[0]] == ["AP-009 is asked", "the decision: no GSIs", "the decision: no copies"]
    for statements in found:
        assert "the decision: no GSIs" in map(str, statements)


@pytest.mark.slow
def test_a_consistent_read_that_only_an_index_could_serve() -> None:
    reads = tuple(replace(read, consistency=Consistency.STRONG) if read.id == "AP-002" else read for read in FREE.reads)
    workload = deciding("no copies", workload=replace(FREE, reads=reads))
    assert [str(one) for one in conflict(workload)] == [
        "AP-002 is asked",
        "AP-002 is read with strong consistency",
        "the decision: no copies",
    ]
    assert served(solve(replace(workload, decisions=())))


def test_decisions_that_contradict_each_other() -> None:
    workload = deciding("Product lives under Order", "no copies")
    with pytest.raises(InfeasibleError):
        solve(workload)
    assert [str(one) for one in conflict(workload)] == ["the decision: Product lives under Order"]


@pytest.mark.slow
def test_no_conflict_where_everything_can_be() -> None:
    assert conflict(SHOP) == ()
    assert conflicts(SHOP) == ()


# --- What is there already ------------------------------------------------------------------------------------------


def without(*ids: str) -> Workload:
    return replace(SHOP, reads=tuple(read for read in SHOP.reads if read.id not in ids))


def is_kept(before: Design, after: Design) -> bool:
    return all(
        (item := after.item(old.entity, old.copy)) and all(item.facet(f.slot) == f for f in old.facets)
        for old in before.items
    )


@pytest.mark.everyday(1)
@pytest.mark.parametrize("ids", [("AP-008",), ("AP-002", "AP-006"), ("AP-006", "AP-007", "AP-008", "AP-009")])
def test_a_table_grows_and_what_is_there_stays(ids: tuple[str, ...]) -> None:
    before = solve(without(*ids)).design
    after = solve(SHOP, before)
    assert served(after)
    assert is_kept(before, after.design)
    added = growth(before, after.design, SHOP)
    assert bool(added) == (before != replace(after.design, operations=before.operations))
    assert {slot.name for slot in added.indexes} == {s.name for s in after.design.slots} - {
        s.name for s in before.slots
    }
    written = {(key.entity, key.copy, key.slot) for key in added.keys}
    written |= {(copy.entity, copy.copy, facet.slot) for copy in added.copies for facet in copy.facets}
    now, then = (
        {(i.entity, i.copy, f.slot) for i in design.items for f in i.facets} for design in (after.design, before)
    )
    assert written == now - then
    assert {fill.entity for fill in added.backfills} == {entity for entity, _, _ in written}


def grown(*edits: tuple[str, str]) -> list[str]:
    """What is to be written for users that are there, when the document becomes another."""
    before = (EXAMPLES / "teams" / "access-patterns.md").read_text("utf-8")
    after = before
    for old, new in edits:
        assert old in after
        after = after.replace(old, new, 1)
    workload = read_text(after, "md").workload
    kept = solve(read_text(before, "md").workload).design
    return [text for one in growth(kept, solve(workload, kept).design, workload).backfills for text in one.why]


EMAIL = "  - `email` (string, unique)\n"
ROW = "| AP-001 |"
BY = "| AP-011 | User | by it | {} | Collection | - | Yes | Cold | Eventual | No |\n| AP-001 |"


@pytest.mark.slow
def test_an_attribute_that_may_be_new_is_a_reason_only_for_items_that_have_it() -> None:
    city = (EMAIL, f"{EMAIL}  - `city` (string)\n")
    (said,) = grown(city, (ROW, BY.format("city")))
    assert said.endswith(" in each that has city")


def test_a_sparse_key_is_for_some_of_the_items() -> None:
    level = (EMAIL, f"{EMAIL}  - `level` (LOW | HIGH, mutable)\n")
    (said,) = grown(level, (ROW, BY.format("level = HIGH")))
    assert said.endswith(" in each whose level is HIGH")


def test_backfill_of_a_required_attribute_is_for_each_item() -> None:
    assert [one.endswith(" in each") for one in grown((ROW, BY.format("-")))] == [True]


def test_new_entity_needs_no_backfill() -> None:
    badge = (
        "### Badge\n\n- **Attributes**:\n  - `badgeId` (ulid, generated)\n  - `number` (string, unique)\n\n### Team\n"
    )
    row = "| AP-011 | Badge | by number | number | Single | - | No | Cold | Eventual | No |\n| AP-001 |"
    assert grown(("### Team\n", badge), (ROW, row)) == []


@pytest.mark.slow
def test_a_table_that_serves_already_does_not_change() -> None:
    before = solve(SHOP).design
    after = solve(SHOP, before).design
    assert after == before
    assert not growth(before, after, SHOP)


INDEX = "the design that is kept has the index {}"
COPY = "the design that is kept has the copy Order/by-orderId"
DAYS = (
    "the design that is kept has the key `ALL#ORDER#{placedAt:day}` and `ORDER#{placedAt}#{orderId}` of Order in gsi1"
)
KEPT = deciding("at most 3 GSIs", workload=SHOP)
"""With few indexes a copy serves what is left."""


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        ("at most 2 GSIs", [INDEX.format(f"gsi{number}") for number in (1, 2, 3)]),
        ("no GSIs", [INDEX.format("gsi3")]),
        ("no copies", [COPY]),
        ("no copies for Order", [COPY]),
        (
            "no GSIs for User",
            ["the design that is kept has the key `EMAIL#{email}` and `USER#{userId}` of User in gsi1"],
        ),
        ("no buckets", [DAYS]),
        ("Order in 8 shards", [DAYS]),
    ],
)
def test_a_limit_that_a_kept_design_is_beyond_is_a_conflict_with_it(sentence: str, statements: list[str]) -> None:
    kept = solve(KEPT).design
    workload = deciding(sentence, workload=SHOP)
    with pytest.raises(InfeasibleError):
        solve(workload, kept)
    (found,) = conflicts(workload, kept)
    said = [str(one) for one in found]
    assert said[-1] == f"the decision: {sentence}"
    assert said[:-1] == statements


@pytest.mark.everyday(1)
@pytest.mark.parametrize("sentence", ["at most 3 GSIs", "at most 1 copies", "at most 4 structures", "no shards"])
def test_a_limit_that_a_kept_design_is_within_changes_nothing(sentence: str) -> None:
    kept = solve(KEPT).design
    workload = deciding(sentence, workload=SHOP)
    assert conflict(workload, kept) == ()
    assert is_kept(kept, solve(workload, kept).design)


@pytest.mark.slow
def test_a_limit_holds_for_what_is_added_to_a_kept_design() -> None:
    kept = solve(without("AP-002", "AP-006", "AP-008", "AP-009")).design
    most = len(kept.indexes)
    assert len(solve(SHOP, kept).design.indexes) > most
    assert len(solve(deciding(f"at most {most} GSIs", workload=SHOP), kept).design.indexes) == most


def test_a_local_index_that_is_kept_is_no_gsi() -> None:
    kept = solve(without("AP-002", "AP-006", "AP-008", "AP-009")).design
    table = kept.slots[0]
    local = replace(table, name="lsi1", sk=(KeyAttribute("lsi1sk"),), local=True)
    kept = replace(kept, slots=(*kept.slots, local))
    design = solve(deciding("at most 2 GSIs", workload=SHOP), kept).design
    assert sum(not slot.local for slot in design.indexes) == 2
    assert not any(item.facet("lsi1") for item in design.items)  # it has the table's partitions


def test_nothing_new_is_put_into_an_index_that_turns_the_table_s_key_round() -> None:
    kept = solve(without("AP-002", "AP-006", "AP-008", "AP-009")).design
    table = kept.slots[0]
    kept = replace(kept, slots=(*kept.slots, replace(table, name="inverted", pk=table.sk, sk=table.pk)))
    after = solve(SHOP, kept)
    assert served(after)
    assert not any(item.facet("inverted") for item in after.design.items)


@pytest.mark.slow
def test_a_read_that_kept_keys_are_in_the_way_of_is_explained_by_them() -> None:
    kept = solve(deciding("no copies for Order")).design
    reads = tuple(replace(read, consistency=Consistency.STRONG) if read.id == "AP-004" else read for read in FREE.reads)
    strong = deciding("no copies for Order", workload=replace(FREE, reads=reads))
    assert conflict(strong) == ()
    assert [str(one) for one in conflict(strong, kept)] == [
        "the design that is kept has the key `ORDER#{orderId}` and `ORDER` of Order",
        "AP-004 is asked",
        "AP-004 is read with strong consistency",
        "the decision: no copies for Order",
    ]


@pytest.mark.parametrize(
    "sentences",
    [
        ("Order in 8 shards", "at most 4 shards"),
        ("Order in 8 shards", "no shards for Order"),
        ("Order in buckets of a day", "no buckets"),
        ("Order in buckets of a day", "no buckets for Order"),
    ],
)
def test_decisions_of_how_to_cut_that_contradict_each_other(sentences: tuple[str, str]) -> None:
    workload = deciding(*sentences)
    with pytest.raises(InfeasibleError):
        solve(workload)
    assert [str(one) for one in conflict(workload)] == [f"the decision: {one}" for one in sentences]


def test_no_buckets_at_all_and_no_structures_for_one_are_obeyed() -> None:
    assert any(":day}" in key for key in keys(solve(FREE)))
    assert not any(":day}" in key for key in keys(solve(deciding("no buckets"))))
    found = solve(deciding("no structures for Order")).design
    assert [(item.copy, [facet.slot for facet in item.facets]) for item in found.items if item.entity == "Order"] == [
        ("", ["table"])
    ]


def test_a_new_entity_finds_its_place_in_a_table_that_others_made() -> None:
    """Other words, other names of attributes, and an index of attributes as they stand."""
    read = read_file(EXAMPLES / "teams" / "access-patterns.md").workload
    first, *others = read.entities
    alone = replace(
        read,
        entities=(first,),
        reads=tuple(r for r in read.reads if set(r.entities) == {first.name}),
        writes=(),
        deletes=(),
        decisions=(),
    )
    before = solve(alone).design
    renamed = replace(
        before,
        slots=tuple(
            replace(
                slot,
                pk=(replace(slot.pk[0], name=slot.pk[0].name.upper()),),
                sk=(replace(slot.sk[0], name=slot.sk[0].name.upper()),),
            )
            for slot in before.slots
        ),
        items=tuple(
            replace(i, facets=tuple(replace(f, pk=(f.pk[0].replace("#", "~#", 1),)) for f in i.facets))
            for i in before.items
        ),
    )
    after = solve(read, renamed)
    assert served(after)
    assert is_kept(renamed, after.design)
    assert {one.name for one in others} <= set(growth(renamed, after.design, read).entities)
    assert [slot.pk[0].name for slot in after.design.slots[: len(renamed.slots)]] == [
        s.pk[0].name for s in renamed.slots
    ]
