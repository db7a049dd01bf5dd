"""The explanation: everything in a design is told about, in facts that agree with the plan and with the bill."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples
from tests.shop import shop_design, shop_workload
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.bill import amplification, bill
from prejoin.design.explain import (
    Explanation,
    UnknownTopicError,
    add_alternatives,
    annotate,
    as_markdown,
    as_text,
    choices,
    explain,
    explain_design,
    explanation,
    topics,
    why,
)
from prejoin.design.explain.model import AboutCopy, AboutEntity, AboutIndex, AboutKey, AboutPattern, Because
from prejoin.design.explain.operations import operation_words
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Call, Design, Did, ItemAction, ItemName, Operation, Request
from prejoin.design.solver import solve as solver
from prejoin.design.solver.solve import Solution
from prejoin.design.whatif.alternatives import without_pattern
from prejoin.design.whatif.attempt import WhatIf
from prejoin.types import STRING
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import (
    Absence,
    AtMost,
    Attribute,
    Combine,
    Comparison,
    Consistency,
    Decision,
    Entity,
    Minimise,
    Op,
    OutOfScope,
    Presence,
    Read,
    Value,
    Workload,
)

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])


def named(path: Path) -> str:
    return path.parent.name


@cache
def explained(path: Path) -> tuple[Workload, Solution, Explanation]:
    workload = read_file(path).workload
    solution = solve(workload)
    return workload, solution, explain(workload, solution)


def example(name: str) -> tuple[Workload, Solution, Explanation]:
    return explained(next(path for path in DOCUMENTS if named(path) == name))


def pattern(explanation: Explanation, name: str) -> AboutPattern:
    return next(one for one in explanation.patterns if one.pattern == name)


def _told(explanation: Explanation) -> list[AboutEntity | AboutIndex | AboutCopy | AboutPattern]:
    return [*explanation.entities, *explanation.indexes, *explanation.copies, *explanation.patterns]


# --- Laws over all documents ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_entity_index_copy_and_pattern_is_explained(path: Path) -> None:
    workload, solution, explanation = explained(path)
    design = solution.design
    assert [one.entity for one in explanation.entities] == [e.name for e in workload.entities]
    assert [one.index for one in explanation.indexes] == [slot.name for slot in design.indexes]
    assert [(one.entity, one.copy) for one in explanation.copies] == [(i.entity, i.copy) for i in design.copies]
    assert [one.pattern for one in explanation.patterns] == [p.id for p in workload.patterns]
    assert all(one.text and all(sentence.endswith(".") for sentence in one.text) for one in _told(explanation))


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_the_numbers_are_those_of_the_bill(path: Path) -> None:
    workload, solution, explanation = explained(path)
    whole = bill(workload, solution.design)
    assert explanation.dollars == pytest.approx(float(whole.total), abs=1e-5)
    for about in explanation.patterns:
        cost = whole.pattern(about.pattern)
        if cost is None:
            assert about.outside
            continue
        assert (about.units, about.per_second) == (cost.units, cost.rate)
        assert about.dollars == pytest.approx(float(cost.dollars), abs=1e-5)
    stored = {index.index: float(whole.slot(index.index)) for index in explanation.indexes}
    writes = {w.id for w in (*workload.writes, *workload.deletes)}
    written = sum(float(one.dollars) for one in whole.patterns if one.pattern in writes)
    assert all(index.dollars >= stored[index.index] for index in explanation.indexes)
    assert sum(index.dollars - stored[index.index] for index in explanation.indexes) <= written + 1e-5
    for one in amplification(workload, solution.design):
        about_entity = next(e for e in explanation.entities if e.entity == one.entity)
        same = [w for w in about_entity.writes if w.verb is one.verb]
        assert [(w.items, w.entries, w.units) for w in same] == [(one.items, one.entries, one.units)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_each_index_is_needed_by_the_patterns_whose_requests_go_there(path: Path) -> None:
    _, solution, explanation = explained(path)
    for index in explanation.indexes:
        asking = {o.pattern for o in solution.design.operations if index.index in {r.slot for r in o.requests}}
        assert set(index.patterns) == asking
        assert index.patterns, f"nothing needs {index.index}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_each_attribute_of_a_key_has_a_reason(path: Path) -> None:
    _, _, explanation = explained(path)
    keys = [entity.key for entity in explanation.entities]
    keys += [key for index in explanation.indexes for key in index.keys]
    keys += [key for copy in explanation.copies for key in copy.keys]
    for key in keys:
        assert {part.attribute.partition(":")[0] for part in (*key.partition, *key.sort)} == _fields(key.pk, key.sk)
        for part in (*key.partition, *key.sort):
            assert bool(part.patterns) == (part.because in {Because.GIVEN, Because.RANGE, Because.ORDER})
            assert set(part.patterns) <= set(key.patterns)


def _fields(*templates: str) -> set[str]:
    pieces = [piece.partition("}")[0] for text in templates for piece in text.split("{")[1:]]
    return {piece.partition(":")[0].removesuffix("?") for piece in pieces}


@pytest.mark.parametrize("path", DOCUMENTS[::5], ids=named)
def test_the_same_workload_is_explained_in_the_same_words(path: Path) -> None:
    workload, _, explanation = explained(path)
    again = explain(workload, solve(workload))
    assert msgspec.json.encode(again) == msgspec.json.encode(explanation)
    assert msgspec.json.decode(msgspec.json.encode(explanation), type=Explanation) == explanation


@pytest.mark.everyday(4)
@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_text_and_markdown_say_the_same_and_say_it_all(path: Path) -> None:
    _, _, explanation = explained(path)
    text = " ".join(" ".join(as_text(explanation)).split())
    markdown = " ".join(" ".join(as_markdown(explanation)).split())
    for one in _told(explanation):
        for sentence in one.text:
            plain = " ".join(sentence.split())
            assert plain in text
            assert plain in markdown


# --- What is said ---------------------------------------------------------------------------------------------------


def test_an_entity_says_which_reads_made_its_key_and_who_lies_beside_it() -> None:
    explanation = explain_design(shop_workload(), shop_design())
    user = next(one for one in explanation.entities if one.entity == "User")
    assert user.key.pk == "USER#{userId}"
    assert [(p.attribute, p.because) for p in user.key.partition] == [("userId", Because.GIVEN)]
    assert "AP-001" in user.key.partition[0].patterns
    assert (user.count, user.size, user.guards) == (2_000_000, 300, ("email",))
    item = next(one for one in explanation.entities if one.entity == "OrderItem")
    assert [(p.attribute, p.because) for p in item.key.sort] == [("productId", Because.UNIQUE)]
    assert any("Order" in sentence and "AP-007" in sentence for sentence in item.text)


def test_the_order_and_the_range_of_reads_are_told_apart_from_what_is_given() -> None:
    explanation = explain_design(shop_workload(), shop_design())
    gsi1 = next(one for one in explanation.indexes if one.index == "gsi1")
    order = next(key for key in gsi1.keys if key.entity == "Order")
    reasons = {(part.attribute, part.because): part.patterns for part in order.sort}
    assert reasons["placedAt", Because.RANGE] == ("AP-005",)
    assert reasons["placedAt", Because.ORDER] == ("AP-004", "AP-005")
    assert reasons["orderId", Because.UNIQUE] == ()


def test_a_natural_id_is_refused_or_replaced_as_its_writes_say() -> None:
    _, _, explanation = example("shop")
    text = {one.entity: " ".join(one.text) for one in explanation.entities}
    assert "replaces the item" in text["Address"]  # it is only ever put
    assert "with the same key fails" in text["OrderItem"]
    assert "is generated, so two writers never" in text["Order"]


@cache
def copied() -> tuple[Workload, Solution, Explanation]:
    """A design that has copies, because it may have fewer indexes."""
    workload, solution, _ = example("teams")
    most = AtMost("GSIs", len(solution.design.indexes) - 1)
    workload = msgspec.structs.replace(workload, decisions=(*workload.decisions, Decision(most)))
    solution = solve(workload)
    return workload, solution, explain(workload, solution)


@pytest.mark.slow
def test_a_copy_says_what_keeps_it_right() -> None:
    workload, solution, explanation = copied()
    assert explanation.copies
    for copy in explanation.copies:
        item = ItemName(copy.entity, copy.copy)
        writing = [o for o in solution.design.operations if any(a.item == item for r in o.requests for a in r.actions)]
        assert copy.kept_by == tuple(o.pattern for o in writing)
        assert any(r.call is Call.TRANSACT_WRITE for o in writing for r in o.requests)
        rest = tuple(i for i in solution.design.items if (i.entity, i.copy) != (copy.entity, copy.copy))
        less = map_patterns(msgspec.structs.replace(solution.design, items=rest), workload)
        saved = _kept(workload, solution.design) - _kept(workload, less)
        assert copy.dollars == pytest.approx(saved, abs=1e-5)
        assert copy.dollars > 0
        assert set(copy.patterns) <= {p.id for p in workload.patterns}


def _kept(workload: Workload, design: Design) -> float:
    """Dollars a month for writes and storage."""
    whole = bill(workload, design)
    reads = {read.id for read in workload.reads}
    return float(whole.kept + sum(one.dollars for one in whole.patterns if one.pattern not in reads))


@pytest.mark.slow
def test_a_sparse_index_says_which_items_it_has_and_how_many() -> None:
    found = [(workload, key) for workload, key in _keys() if key.sparse and key.slot != "table"]
    assert found
    for workload, key in found:
        entity = workload.entity(key.entity)
        attribute = entity.attribute(key.sparse.split()[0]) if entity else None
        assert attribute is not None
        assert 0 < key.share < 1
        if attribute.type.values:
            assert key.share <= 1 / 2


def _keys() -> list[tuple[Workload, AboutKey]]:
    every = map(explained, DOCUMENTS)
    return [(workload, key) for workload, _, found in every for index in found.indexes for key in index.keys]


def test_the_heat_of_a_partition_is_reckoned_up_with_the_shards_that_are_enough() -> None:
    _, _, explanation = example("aws_bank_payments")
    (partition,) = [one for one in explanation.partitions if one.shards > 1]
    assert partition.enough == partition.shards == -(-int(partition.write_units) // 1000)
    assert f"{partition.write_units:,.0f}" in partition.text[1]
    assert "1,000" in partition.text[1]


def test_every_partition_key_tells_how_many_the_largest_and_the_hottest() -> None:
    workload = shop_workload()
    explanation = explain_design(workload, shop_design())
    keys = [(one.entity, one.copy, one.slot) for one in explanation.partitions]
    assert keys == [(i.entity, i.copy, f.slot) for i in shop_design().items for f in i.facets]
    found = {(one.entity, one.slot): one for one in explanation.partitions if not one.copy}
    users, addresses = found["User", "table"], found["Address", "table"]
    assert users.number == addresses.number == 2_000_000
    assert (users.items, addresses.items) == (1, 10)
    assert "Address" in users.beside
    assert users.whole_items == addresses.whole_items >= 11
    product = next(one for one in explanation.partitions if one.entity == "Product")
    assert product.text[-1] == "The busiest uses 0.048 write and 10 read units a second."


def test_status_partitions_may_hold_all_items() -> None:
    """Their values are not evenly spread: nearly all orders are delivered."""
    _, _, explanation = example("aws_bank_payments")
    (by_status,) = [one for one in explanation.partitions if one.pk.startswith("STATUS#")]
    assert by_status.items * by_status.shards == 10_000


def test_a_batch_heats_a_partition_with_each_of_its_items() -> None:
    _, _, explanation = example("metrics")
    (partition,) = [one for one in explanation.partitions if one.shards > 1]
    assert partition.write_units == 400 * 5  # so many batches a second, of so many samples
    assert partition.shards == 2


def test_declared_hot_key_is_always_explained() -> None:
    workload = shop_workload()
    explanation = explain_design(workload, shop_design())
    product = next(one for one in explanation.partitions if one.entity == "Product")
    assert product.read_units == 400 * 0.05 * 0.5  # 400 a second, 5 % of them for one product, half a unit each


def test_a_pattern_out_of_scope_is_told_about_all_the_same() -> None:
    workload, _, explanation = example("aws_bank_payments")
    outside = [d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)]
    assert outside
    assert [one.pattern for one in explanation.patterns if one.outside] == outside


def test_songs_in_several_orders_name_the_reads_that_want_each() -> None:
    workload, _, explanation = example("seed_music_ranking")
    song = [key for index in explanation.indexes for key in index.keys if key.entity == "Song"]
    song += [key for copy in explanation.copies for key in copy.keys if key.slot == "table" and key.entity == "Song"]
    ordered = {part.attribute for key in song for part in key.sort if part.because is Because.ORDER}
    asked = {s.attribute for read in workload.reads if read.entities == ("Song",) for s in read.sort}
    assert ordered <= asked
    assert "score" in ordered


def test_a_join_is_priced_beside_the_repeated_attribute() -> None:
    _, solution, explanation = example("teams")
    join = pattern(explanation, "AP-003")
    operation = solution.design.operation("AP-003")
    assert operation is not None
    assert [r.call for r in operation.requests] == [Call.QUERY, Call.BATCH_GET]
    (other,) = join.alternatives
    assert "AP-023" in other.text  # it changes the status, which would be in every assignment
    assert other.dollars < 0
    assert -other.dollars < join.dollars


NOTES = """# Notes

## Entities

### Author

- **Attributes**:
  - `authorId` (uuid, generated)
  - `name` (string, mutable)
- **Cardinality**: ~1000 total

### Note

- **Attributes**:
  - `noteId` (uuid, generated)
  - `authorId` (uuid, → Author, immutable)
  - `topic` (string, mutable)
  - `writtenAt` (datetime, immutable)
  - `stars` (integer, mutable)
- **Cardinality**: ~50 per Author

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Note | A note | noteId | Single | - | No | 10/s | Eventual | No |
| AP-002 | Note | Of a topic | topic | Collection | - | No | 1/s | Strong | No |
| AP-003 | Note | Starred and new | authorId, writtenAt >=, stars >= | Collection | - | No | 1/s | Eventual | No |
| AP-004 | Note, Author | A note and its author | noteId | Collection | - | No | 1/s | Eventual | Collection |
| AP-005 | Note | Of an author | authorId | Collection | writtenAt DESC | No | 10/s | Eventual | No |
| AP-006 | Note | By stars | stars | Collection | topic ASC | No | 1/s | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Note | Write | noteId, authorId, topic, writtenAt | create Note | No | - | 1/s |
| AP-021 | Note | Move | noteId, topic | update Note (topic) | No | - | 1/s |

## Decisions

- at most 0 copies
- at most 1 GSIs
"""


@cache
def notes() -> tuple[Workload, Solution, Explanation]:
    workload = read_text(NOTES, "md").workload
    solution = solve(workload)
    return workload, solution, explain(workload, solution)


def test_unserved_read_has_a_reason_and_priced_workarounds() -> None:
    _, _, explanation = notes()
    lost = [one for one in explanation.patterns if not one.served]
    assert {one.pattern for one in lost} == {"AP-002", "AP-003", "AP-004", "AP-006"}
    for one in lost:
        assert one.text[0].startswith("Not served: ")
        assert one.alternatives
        costs = [way.dollars for way in one.alternatives]
        assert costs == sorted(costs)
        assert costs[-1] > 0


def test_two_ranges_are_a_filter_and_a_join_in_disguise_is_called_one() -> None:
    _, _, explanation = notes()
    assert "AP-003 may filter" in pattern(explanation, "AP-003").alternatives[0].text
    join = pattern(explanation, "AP-004")
    assert any("this is a join" in sentence for sentence in join.text)
    assert "AP-004 may use a second request" in join.alternatives[0].text


def test_limits_that_leave_no_room_are_named_with_the_price_of_another_index() -> None:
    _, _, explanation = notes()
    text = " ".join(pattern(explanation, "AP-006").text)
    assert "`at most 1 GSIs`" in text
    assert "`stars` would cost" in text
    assert "strong consistency" in " ".join(pattern(explanation, "AP-002").text)


def test_a_decision_that_accepts_the_way_is_one_that_the_document_can_say() -> None:
    source = NOTES + "- AP-003 may filter\n"
    workload = read_text(source, "md").workload
    assert workload.decisions[-1].pin is not None
    assert not [o for o in solve(workload).design.operations if o.pattern == "AP-001" and not o.served]


def test_quality_is_claimed_only_if_proven() -> None:
    workload, solution, explanation = example("teams")
    assert any("No combination of the" in sentence for sentence in explanation.text)
    cut = msgspec.structs.replace(solution.chosen, is_complete=False, least=1)
    stopped = explain(workload, msgspec.structs.replace(solution, chosen=cut))
    assert any("before the search reached its limit" in sentence for sentence in stopped.text)
    by_hand = explain_design(workload, solution.design)
    assert not any("candidate keys" in sentence for sentence in by_hand.text)
    decided = msgspec.structs.replace(workload, decisions=(*workload.decisions, Decision(Minimise("money"))))
    cheapest = explain(decided, solve(decided))
    assert not any("fewer indexes" in sentence for sentence in cheapest.text), "that was not looked for"


@given(data=st.data())
@settings(max_examples=examples(12))
def test_any_part_of_a_workload_is_explained(data: st.DataObject) -> None:
    workload, _, _ = example("teams")
    reads = tuple(
        msgspec.structs.replace(
            read,
            consistency=data.draw(st.sampled_from([None, Consistency.STRONG])),
            combine=data.draw(st.sampled_from([read.combine, Combine.JOIN, Combine.COLLECTION])),
        )
        for read in data.draw(st.lists(st.sampled_from(workload.reads), unique_by=lambda read: read.id, max_size=4))
    )
    pins = data.draw(st.lists(st.sampled_from([AtMost("GSIs", 0), AtMost("copies", 0)]), unique=True))
    less = msgspec.structs.replace(workload, reads=reads, decisions=tuple(map(Decision, pins)))
    solution = solve(less)
    explanation = explain(less, solution)
    lost = {one.pattern for one in explanation.patterns if not one.served}
    assert lost == {o.pattern for o in solution.design.operations if not o.served}
    assert all(one.alternatives for one in explanation.patterns if one.pattern in lost & {r.id for r in reads})
    assert as_text(explanation)


# --- On demand ------------------------------------------------------------------------------------------------------


def test_dropping_a_pattern_says_what_it_saves() -> None:
    workload, solution, _ = example("teams")
    saved = without_pattern(WhatIf(workload, solution), "AP-005")
    assert saved.structures == -1  # nothing else asks by status
    assert saved.dollars < 0
    rest = msgspec.structs.replace(workload, reads=tuple(r for r in workload.reads if r.id != "AP-005"))
    after = bill(rest, solve(rest).design).total
    assert saved.dollars == pytest.approx(float(after - bill(workload, solution.design).total), abs=1e-5)
    with pytest.raises(LookupError, match="AP-999"):
        without_pattern(WhatIf(workload, solution), "AP-999")


@pytest.mark.slow
def test_alternatives_are_solved_and_priced() -> None:
    workload, solution, explanation = example("teams")
    annotate = add_alternatives(WhatIf(workload, solution), explanation)
    fewer = annotate.alternatives[0]
    most = AtMost("GSIs", len(solution.design.indexes) - 1)
    pinned = msgspec.structs.replace(workload, decisions=(*workload.decisions, Decision(most)))
    other = solve(pinned).design
    assert fewer.structures == len(other.indexes) + len(other.copies) - explanation.structures
    assert fewer.dollars == pytest.approx(float(bill(workload, other).total) - explanation.dollars, abs=1e-5)
    assert len(other.indexes) < len(solution.design.indexes)
    assert any(entity.alternatives for entity in annotate.entities)
    assert all(len(entity.alternatives) <= 1 for entity in annotate.entities)


@pytest.mark.slow
def test_alternative_names_the_writes_that_would_read_first() -> None:
    """A cheaper key is not better if more writes have to find or read their item."""
    workload, solution, explanation = example("blog")
    annotated = add_alternatives(WhatIf(workload, solution), explanation)
    (post,) = (entity for entity in annotated.entities if entity.entity == "Post")
    (other,) = post.alternatives
    assert other.dollars < 0
    assert "would read more before writing" in other.text


def test_choices_are_for_the_document_that_tells_the_design() -> None:
    workload, solution, explanation = example("shop")
    found = choices(explanation)
    about = [choice.about for choice in found]
    assert about[0] == "table"
    assert set(about) >= {e.name for e in workload.entities} | {slot.name for slot in solution.design.indexes}
    assert len(about) == len(set(about))
    assert all(choice.text for choice in found)


def test_a_design_is_told_with_the_purpose_of_each_index() -> None:
    explanation = explain_design(shop_workload(), shop_design())
    design = annotate(shop_design(), explanation)
    assert design.decisions == choices(explanation)
    purposes = {slot.name: slot.purpose for slot in design.indexes}
    assert all(purposes.values())
    assert "Order by userId, in the order of placedAt" in purposes["gsi1"]


def test_why_answers_for_entities_indexes_copies_and_patterns_whatever_the_case() -> None:
    _, _, explanation = copied()
    for topic in topics(explanation):
        assert why(explanation, topic)
        assert why(explanation, f"why {topic.lower()}?") == why(explanation, topic)
    copy = explanation.copies[0]
    lines = why(explanation, copy.entity)
    assert lines[0].startswith(f"{copy.entity}: `")
    assert any(line.startswith(f"{copy.entity}, copy {copy.copy}") for line in lines)


def test_why_suggests_the_nearest_topic() -> None:
    _, _, explanation = example("blog")
    with pytest.raises(UnknownTopicError, match="did you mean Comment") as caught:
        why(explanation, "Coment")
    assert caught.value.meant == "Comment"
    with pytest.raises(UnknownTopicError, match="ask about"):
        why(explanation, "xyzzy")


def test_condition_on_an_attribute_is_not_explained_as_one_on_the_item() -> None:
    comparison = Comparison(attribute="total", op=Op.GE, values=(Value(const="3"),))
    conditions = (Presence(), Absence(attribute="note"), Presence(attribute="owner"), comparison)
    action = ItemAction(Did.UPDATE, ItemName("Order"), "ORDER#{orderId}", conditions=conditions)
    operation = Operation("AP-001", (Request(Call.UPDATE, actions=(action,)),))
    assert list(operation_words(operation)) == [
        "One UpdateItem: updates Order if it exists, it has no note, it has owner and total >= 3."
    ]


def test_a_read_without_entities_is_explained_as_not_served() -> None:
    asked = Workload(
        entities=(Entity("Note", attributes=(Attribute("noteId", STRING, id=True),)),), reads=(Read("R1"),)
    )
    solution = solver.solve(asked)
    assert "R1 names no entity" in " ".join(operation.problem for operation in solution.design.operations)
    assert explanation.explain(asked, solution).patterns[0].served is False
    assert check_design(solution.design, asked) is not None
