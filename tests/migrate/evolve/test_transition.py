"""The versions of the code between two designs, and the changes that are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from prejoin import Client, Embedded, InputError
from prejoin.design.model import TABLE, Facet, Guard, Item, Projection, ProjectionKind
from prejoin.migrate.evolve.attribute_forms import AttributeFill
from prejoin.migrate.evolve.plan import steps_of
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from tests.migrate.evolve.shop import FEW, MOVED, OLD, ORDER, USER, copied, few, index, many, moved, version


def test_steps_of_new_indexes_backfill_before_they_are_read() -> None:
    steps = [(one.kind, one.what, one.running) for one in steps_of(plan_transition(few("OLD"), many("NEW")))]
    assert steps == [
        ("index", "gsi2", "`OLD`"),
        ("deploy", "prepare", "`OLD` and `prepare`"),
        ("backfill", "", "`prepare`"),
        ("deploy", "NEW", "`prepare` and `NEW`"),
        ("clean", "", "`NEW`"),
    ]


def test_steps_of_removed_indexes_keep_them_until_no_code_reads_them() -> None:
    steps = [(one.kind, one.what) for one in steps_of(plan_transition(many("OLD"), few("NEW")))]
    assert steps == [("deploy", "switch"), ("deploy", "NEW"), ("remove", "gsi2"), ("clean", "")]


def test_another_key_needs_both_versions() -> None:
    found = plan_transition(few("OLD"), moved("NEW"))
    assert [one.name for one in found.versions] == ["prepare", "switch", "NEW"]
    twins = {one.name: one.design.item("Order", "twin") for one in (found.prepare, found.switch)}
    assert {name: twin and twin.tag for name, twin in twins.items()} == {"prepare": "Order2", "switch": "Order"}


def test_equal_designs_need_nothing_but_a_deployment() -> None:
    found = plan_transition(many("OLD"), many("NEW"))
    assert [(one.kind, one.what) for one in steps_of(found)] == [("deploy", "NEW"), ("clean", "")]


def test_defaults_of_new_attributes_are_written() -> None:
    assert plan_transition(few("OLD"), many("NEW")).fills == (AttributeFill("User", "language", "NEW"),)


def test_keys_that_are_only_written_are_not_read() -> None:
    found = plan_transition(few("OLD"), many("NEW"))
    schema = found.prepare.package.rendered.modules["schema"]
    assert schema.count("write_only=True") == 2
    assert "write_only" not in found.new.package.rendered.modules["schema"]


# --- Refusals -------------------------------------------------------------------------------------------------------


def _document(was: str, now: str, text: str = OLD) -> str:
    assert was in text
    return text.replace(was, now)


def _refused() -> Iterator[tuple[str, CodeVersion, CodeVersion, str, str]]:
    old = few("OLD")
    design = replace(FEW, type_attribute="kind")
    yield "another type attribute", old, version("NEW", OLD, design), "PJ770", "type attribute"
    yield "another table", old, version("NEW", OLD, replace(FEW, table="store")), "PJ770", "name"
    keys_only = replace(index("gsi1"), projection=Projection(ProjectionKind.KEYS_ONLY))
    design = replace(FEW, slots=(FEW.slots[0], keys_only))
    yield "another projection", old, version("NEW", OLD, design), "PJ771", "gsi1"
    local = replace(index("lsi"), pk=FEW.slots[0].pk, local=True)
    design = replace(FEW, slots=(*FEW.slots, local))
    yield "a local index", old, version("NEW", OLD, design), "PJ771", "lsi"
    text = _document("`total` (integer, mutable)", "`total` (string, mutable)")
    yield "another type", old, version("NEW", text, FEW), "PJ772", "Order.total is integer in OLD and string in NEW"
    text = _document("- `total` (integer, mutable)\n", "")
    text = _document("status, total |", "status |", text)
    text = "\n".join(line for line in text.splitlines() if "AP-014" not in line)
    yield "a required attribute is gone", old, version("NEW", text, FEW), "PJ772", "Order.total"
    text = _document("- `name` (string, mutable)", "- `name` (string, mutable)\n- `age` (integer)")
    yield "a new required attribute", old, version("NEW", text, FEW), "PJ772", "User.age"
    other = replace(ORDER, facets=(ORDER.facets[0], Facet("gsi1", ("U#{userId}",), ("{placedAt}#{orderId}",))))
    yield "another key in an index", old, version("NEW", OLD, replace(FEW, items=(USER, other))), "PJ773", "gsi1"
    same = tuple(replace(one, tag="Order") if one.entity == "Order" else one for one in MOVED.items)
    yield "another key, same type", old, version("NEW", OLD, replace(MOVED, items=same)), "PJ773", "another type in NEW"
    guarded = replace(FEW, guards=(Guard("Order", ("total",)),))
    yield "another key and a guard", version("OLD", OLD, guarded), moved("NEW"), "PJ773", "unique in OLD only"
    total = "- `total` (integer, mutable)\n"
    text = _document(total, f"{total}- `version` (integer, mutable)\n- **History**: 3 versions\n")
    kept = (
        version("OLD", text, FEW),
        version("NEW", _document(total, f"{total}- `version` (integer, mutable)\n"), MOVED),
    )
    yield "another key and no history any more", *kept, "PJ773", "its history changes"
    yield "another type, same key", old, _retyped(), "PJ773", "keep the type"
    beside = Item("Order", "Order2", (Facet(TABLE, ("O#{orderId}",), ("O",)), ORDER.facets[1]))
    mixed = replace(FEW, items=(USER, beside))
    yield "two items in one index", old, version("NEW", OLD, mixed), "PJ774", "AP-002"


def _retyped() -> CodeVersion:
    return version("NEW", OLD, replace(FEW, items=(USER, replace(ORDER, tag="Purchase"))))


def test_unsafe_changes_are_refused_with_a_fix() -> None:
    for name, old, new, code, said in _refused():
        with pytest.raises(InputError) as refusal:
            plan_transition(old, new)
        found = [one for one in refusal.value.diagnostics if one.code == code]
        assert any(said in f"{one.message} {one.fix}" for one in found), (name, refusal.value)
        assert all(one.fix for one in refusal.value.diagnostics), name


def test_entity_that_is_gone_keeps_its_items_and_is_said() -> None:
    text = OLD.replace("### Order", "### Purchase").replace("| Order |", "| Purchase |")
    text = text.replace("create Order", "create Purchase").replace("update Order", "update Purchase")
    text = text.replace("delete Order", "delete Purchase")
    purchase = Item(
        "Purchase",
        "Purchase",
        (Facet(TABLE, ("P#{orderId}",), ("P",)), Facet("gsi1", ("BUYER#{userId}",), ("P#{placedAt}#{orderId}",))),
    )
    found = plan_transition(few("OLD"), version("NEW", text, replace(FEW, items=(USER, purchase))))
    assert any("Order is not in `NEW`. Its items stay" in note for note in found.notes)
    assert any("If Order became Purchase: keep Order in this change" in note for note in found.notes)


def test_the_way_back_is_the_same_with_both_exchanged() -> None:
    for one, other in ((few, many), (few, moved), (many, copied)):
        assert steps_of(plan_transition(one("OLD"), other("NEW")))
        assert steps_of(plan_transition(other("OLD"), one("NEW")))


# --- New entities ---------------------------------------------------------------------------------------------------

CLASSES = """# Classes

## Entities

### Work

- `courseId` (string, id)
- `workId` (string, id)
{entities}
## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| AP-001 | Work | courseId | {result} | 10/s |
{reads}
### Writes

| ID | Entity | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- |
| AP-010 | Work | courseId, workId | create Work | 1/s |
"""
REMARK = "\n### Remark\n\n- `courseId` (string, id)\n- `workId` (string, id)\n- `remarkId` (string, id)\n"
REMARKS = "| AP-002 | Remark | courseId, workId | Collection | 10/s |\n"
WORK_ITEM = Item("Work", "Work", (Facet(TABLE, ("COURSE#{courseId}",), ("WORK#{workId}",)),))
REMARK_KEY = ("COURSE#{courseId}",), ("WORK#{workId}#REMARK#{remarkId}",)
REMARK_ITEM = Item("Remark", "Remark", (Facet(TABLE, *REMARK_KEY),))


def with_remarks(result: str) -> tuple[CodeVersion, CodeVersion]:
    """A design whose read takes all items of a course, and one with remarks among these."""
    design = replace(FEW, slots=FEW.slots[:1], items=(WORK_ITEM,))
    old = version("OLD", CLASSES.format(entities="", reads="", result=result), design)
    more = CLASSES.format(entities=REMARK, reads=REMARKS, result="Collection")
    return old, version("NEW", more, replace(design, items=(WORK_ITEM, REMARK_ITEM)))


def test_new_entity_among_items_that_old_code_reads() -> None:
    """Code of OLD passes over items of a type that it does not know."""
    old, new = with_remarks("Collection")
    found = plan_transition(old, new)
    assert [item.entity for item in found.prepare.design.items] == ["Work"]
    assert any("AP-001 of OLD meets items of Remark" in note for note in found.notes)
    engine = Embedded()
    before, after = (Client(one.package.schema, "shop", engine) for one in (old, new))
    before.create_table()
    before.insert(old.package.record("Work", {"courseId": "c", "workId": "w"}))
    after.insert(new.package.record("Remark", {"courseId": "c", "workId": "w", "remarkId": "r"}))
    works = old.package.call(before, old.package.methods["AP-001"], {"course_id": "c"})
    assert [one.work_id for one in works] == ["w"]


@pytest.mark.parametrize("result", ["Count", "Collection, limit 5"])
def test_figure_of_items_with_a_new_entity_is_refused(result: str) -> None:
    with pytest.raises(InputError, match="would count items of Remark") as refusal:
        plan_transition(*with_remarks(result))
    assert "PJ774" in {one.code for one in refusal.value.diagnostics}


def test_way_back_from_a_new_entity_among_items_that_old_code_reads() -> None:
    """Items of the new entity stay, and code of OLD passes over them."""
    old, new = with_remarks("Collection")
    there = plan_transition(old, new)
    back = plan_transition(new, old, there.change)
    assert [item.entity for item in back.switch.design.items] == ["Work"]
    assert any("AP-001 of OLD meets items of Remark" in note for note in back.notes)
    engine = Embedded()
    client, target = (Client(one.package.schema, "shop", engine) for one in (new, back.switch))
    client.create_table()
    client.insert(new.package.record("Work", {"courseId": "c", "workId": "w"}))
    client.insert(new.package.record("Remark", {"courseId": "c", "workId": "w", "remarkId": "r"}))
    method = back.switch.package.methods["AP-001"]
    works = back.switch.package.call(target, method, {"course_id": "c"})
    assert [one.work_id for one in works] == ["w"]


@pytest.mark.parametrize("result", ["Count", "Collection, limit 5"])
def test_figure_of_items_with_an_entity_that_is_gone_is_refused(result: str) -> None:
    with_fewer, with_more = with_remarks(result)
    with pytest.raises(InputError, match="would count items of Remark"):
        plan_transition(with_more, with_fewer)
