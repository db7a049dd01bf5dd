"""Cached forms of writes: an action from a form equals an action made without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin import Client, CodecError, Entity, Index, Key, NotFound, Schema
from prejoin.engine import Embedded
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import First, Joined, Sum
from prejoin.table.write.actions import check_item, delete_item, update_item
from prejoin.table.write.expand import WriteForm, expand
from prejoin.table.write.from_call import check_write, delete_write, update_write
from prejoin.table.write.model import ItemAction, Write


@dataclass
class Order:
    user: str
    number: int
    status: str
    total: int
    parcels: int
    note: str | None = None
    tags: list[str] | None = None
    marks: frozenset[str] = frozenset()


def schema() -> Schema:
    return Schema(
        Entity(
            Order,
            Key("USER#{user}", "ORDER#{number:06}"),
            indexes={"gsi1": Key("STATUS#{status}", "{number}", when=lambda o: o.status == "OPEN")},
        ),
        indexes=[Index("gsi1")],
    )


def update(at: Schema, changes: Changes, where: Any = None, **more: Any) -> Write:
    keywords = {"user": "ann", "number": 1, **more}
    return update_write(at, Order, changes, where, keywords, False, None, False)


def same(one: ItemAction, other: ItemAction) -> bool:
    return (one.kind, dict(one.parameters), one.key, one.failure) == (
        other.kind,
        dict(other.parameters),
        other.key,
        other.failure,
    )


def forms(known: Schema) -> list[WriteForm]:
    return [found for found in known.write_forms.values() if isinstance(found, WriteForm)]


numbers = st.integers(-5, 5)
words = st.sampled_from(["", "OPEN", "DONE", "a b"])
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "status": words,
        "total": numbers
        | st.builds(Sum, st.sampled_from([("total",), ("parcels",)]), st.sampled_from("+-"), numbers, st.booleans()),
        "parcels": numbers | st.builds(Sum, st.just(("parcels",)), st.sampled_from("+-"), numbers),
        "note": st.none() | words | st.builds(First, st.just(("note",)), words),
        "tags": st.lists(words) | st.builds(Joined, st.just(("tags",)), st.lists(words), st.booleans()),
        "marks": st.frozensets(words.filter(bool)),
        ("tags", 0): words,
    },
)


@given(
    st.lists(
        st.tuples(
            CHANGES,
            st.fixed_dictionaries({}, optional={"parcels": numbers}),
            st.sampled_from([{}, {"status": "OPEN"}, {"total": 3}]),
        ),
        max_size=12,
    )
)
def test_cached_forms_change_no_update(operations: list[tuple[Any, Any, dict[str, Any]]]) -> None:
    known = schema()
    for sets, adds, values in operations:
        try:
            write = update(known, Changes(sets, adds), **values)
            expected = update_item(known, write)
        except Exception as error:
            with pytest.raises(type(error)):
                expand(known, update(known, Changes(sets, adds), **values))
        else:
            (found,) = expand(known, write)
            assert same(found, expected)


def test_updates_that_differ_in_values_share_a_form() -> None:
    known = schema()
    for amount in range(3):
        expand(known, update(known, Changes({"total": Sum(("total",), "+", amount), "note": f"{amount}"})))
    assert len(forms(known)) == 1
    (found,) = expand(known, update(known, Changes({"total": Sum(("total",), "+", 7), "note": "x"})))
    assert found.parameters["ExpressionAttributeValues"] == {":0": {"N": "7"}, ":1": {"S": "x"}}


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        (Changes({"status": "OPEN"}), {}),
        (Changes({"total": 1}), {"where": lambda o: o.total > 3}),
        (Changes({"total": 1}), {"note": "said"}),
        (Changes({"total": 1}, adds={"parcels": 1}), {}),
        (Changes({"total": 1, "note": None}), {}),
        (Changes({("tags", 0): "first"}), {}),
    ],
    ids=["index key", "condition", "known", "added to", "removed", "nested"],
)
def test_write_that_depends_on_values_has_no_form(changes: Changes, options: dict[str, Any]) -> None:
    known = schema()
    write = update(known, changes, **options)
    (found,) = expand(known, write)
    assert same(found, update_item(known, write))
    assert not forms(known)


def test_an_update_of_a_form_is_still_refused_for_its_value() -> None:
    known = schema()
    expand(known, update(known, Changes({"note": "x"})))
    with pytest.raises(CodecError, match=r"Order\.note"):
        expand(known, update(known, Changes({"note": 7})))


def test_checks_and_deletes_have_forms() -> None:
    known = schema()
    for number in range(3):
        keywords = {"user": "ann", "number": number}
        check, delete = (
            check_write(known, Order, None, keywords),
            delete_write(known, Order, None, keywords, False, None),
        )
        assert same(expand(known, check)[0], check_item(known, check))
        assert same(expand(known, delete)[0], delete_item(known, delete))
    assert len(forms(known)) == 2


def test_a_write_of_a_form_fails_in_the_same_words() -> None:
    db = Client(schema(), "shop", Embedded())
    db.create_table()
    for number in (1, 2):
        with (
            pytest.raises(NotFound, match=f"there is no Order user='ann', number={number}"),
            db.update(Order, user="ann", number=number) as order,
        ):
            order.total += 1
