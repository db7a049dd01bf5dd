"""A design's keys as the planner has them: what it says of them is what the run time finds."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from prejoin import keys
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design, Facet, Item, KeyAttribute, Projection, ProjectionKind, Slot, When
from prejoin.keys import Natural, TemplateError
from prejoin.types import Kind, Type
from prejoin.workload.model import Attribute, Entity, Workload

INTEGER = Type(Kind.INTEGER)
TASK = Entity(
    "Task",
    attributes=(
        Attribute("taskId", id=True),
        Attribute("team"),
        Attribute("rank", INTEGER),
        Attribute("dueAt", Type(Kind.DATETIME), optional=True),
        Attribute("text"),
    ),
)
WORKLOAD = Workload("Tasks", entities=(TASK,))
TABLE = Slot("table", (KeyAttribute("pk"),), (KeyAttribute("sk"),))
GSI1 = Slot("gsi1", (KeyAttribute("gsi1pk"),), (KeyAttribute("gsi1sk"),))
BY_TEAM = Slot("by-team", (KeyAttribute("team"),), (KeyAttribute("rank", "N"), KeyAttribute("dueAt")))
OWN = Facet("table", ("TASK#{taskId}",), ("TASK",))


def facets(*items: Item, slots: tuple[Slot, ...] = (TABLE, GSI1)) -> dict[tuple[str, str], keys.Facet]:
    """By copy and slot."""
    return {(f.copy, f.slot): f for f in planner_facets(Design("tasks", slots, items), WORKLOAD)}


def test_a_key_that_has_the_name_of_an_attribute_is_the_attribute() -> None:
    table = Slot("table", (KeyAttribute("taskId"),))
    found = facets(Item("Task", "Task", (Facet("table", ("{taskId}",)),)), slots=(table,))
    assert isinstance(found["", "table"].pk, Natural)
    assert found["", "table"].sk is None


def test_a_key_of_several_attributes_is_those_as_they_stand() -> None:
    facet = Facet("by-team", ("{team}",), ("{rank}", "{dueAt}"))
    found = facets(Item("Task", "Task", (OWN, facet)), slots=(TABLE, BY_TEAM))["", "by-team"]
    assert (found.pk.attributes, found.sk and found.sk.attributes) == (("team",), ("rank", "dueAt"))
    assert isinstance(found.sk, Natural)
    assert [str(one) for one in found.when] == ["dueAt is present"]
    with pytest.raises(TemplateError, match="a key of several attributes is made of attributes as they stand"):
        other = Facet("by-team", ("{team}",), ("RANK#{rank}", "{dueAt}"))
        facets(Item("Task", "Task", (OWN, other)), slots=(TABLE, BY_TEAM))


def test_an_item_is_in_an_index_on_its_attributes_whether_or_not_that_is_said() -> None:
    item = Item("Task", "Task", (OWN,))
    assert ("", "by-team") in facets(item, slots=(TABLE, BY_TEAM))
    other = Slot("by-owner", (KeyAttribute("owner"),))
    assert ("", "by-owner") not in facets(item, slots=(TABLE, other))
    copy = Item("Task", "Task.c", (Facet("table", ("TEAM#{team}",), ("{taskId}",)),), "c")
    assert ("c", "by-team") in facets(item, copy, slots=(TABLE, BY_TEAM))
    slim = replace(copy, attributes=("rank",))
    assert ("c", "by-team") not in facets(item, slim, slots=(TABLE, BY_TEAM)), "it has no dueAt"


def test_without_an_optional_attribute_of_the_key_an_item_is_not_there() -> None:
    sparse = Facet("gsi1", ("TEAM#{team}",), ("{dueAt}",))
    assert [str(w) for w in facets(Item("Task", "Task", (OWN, sparse)))["", "gsi1"].when] == ["dueAt is present"]
    placed = Facet("gsi1", ("TEAM#{team}",), ("DUE#{dueAt?}",))
    assert facets(Item("Task", "Task", (OWN, placed)))["", "gsi1"].when == ()


def test_missing_copy_is_missing_in_its_indexes() -> None:
    table = Facet("table", ("TEAM#{team}",), ("{taskId}",), (When("dueAt"),))
    copy = Item("Task", "Task.c", (table, Facet("gsi1", ("ALL",), ("{rank}",))), "c")
    found = facets(Item("Task", "Task", (OWN,)), copy)
    assert [str(w) for w in found["c", "gsi1"].when] == ["dueAt is present"]


def test_a_copy_holds_what_its_keys_are_made_of() -> None:
    copied = (Facet("table", ("TEAM#{team}",), ("{taskId}",)), Facet("gsi1", ("ALL",), ("{rank}",)))
    copy = Item("Task", "Task.c", copied, "c", ("text",))
    found = facets(Item("Task", "Task", (OWN,)), copy)
    held = frozenset({"text", "team", "taskId", "rank"})
    assert found["c", "table"].holds == found["c", "gsi1"].holds == held
    everything = replace(copy, attributes=("text", "dueAt"))
    assert facets(Item("Task", "Task", (OWN,)), everything)["c", "table"].holds is None


@pytest.mark.parametrize(
    ("projection", "served"),
    [
        (Projection(), True),
        (Projection(ProjectionKind.KEYS_ONLY), False),
        (Projection(ProjectionKind.INCLUDE, ("text",)), False),
        (Projection(ProjectionKind.INCLUDE, ("text", "team", "rank", "dueAt", "taskId")), True),
    ],
)
def test_an_index_answers_only_with_what_it_holds(projection: Projection, served: bool) -> None:
    item = Item("Task", "Task", (OWN, Facet("gsi1", ("TEAM#{team}",), ("{rank}",))))
    found = tuple(facets(item, slots=(TABLE, replace(GSI1, projection=projection))).values())
    whole = keys.plan(found, keys.Lookup.of("Task", equal=["team"]))
    assert isinstance(whole, keys.Plan) is served
    part = keys.plan(found, keys.Lookup.of("Task", equal=["team"], needs=["taskId", "rank"]))
    assert isinstance(part, keys.Plan), "its keys and the table's say that"
    text = keys.plan(found, keys.Lookup.of("Task", equal=["team"], needs=["text"]))
    assert isinstance(text, keys.Plan) is (projection.kind is not ProjectionKind.KEYS_ONLY)


def test_attributes_that_are_keys_themselves_are_in_every_index() -> None:
    table = Slot("table", (KeyAttribute("taskId"),))
    index = replace(BY_TEAM, projection=Projection(ProjectionKind.INCLUDE, ("text",)))
    item = Item("Task", "Task", (Facet("table", ("{taskId}",)),))
    assert facets(item, slots=(table, index))["", "by-team"].holds is None
