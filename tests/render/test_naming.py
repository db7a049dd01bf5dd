"""Python names for the names of a document: valid, readable and unique."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.render.designed import NAMES, designed

from prejoin.render.naming import class_name, class_names, method_name, method_names
from prejoin.workload.field_names import LONGEST, RESERVED, snake
from prejoin.workload.model import Entity, Read, Workload, Write

TEXTS = st.text(max_size=80) | st.sampled_from(
    ["class", "List", "None", "🙂", "1st", "user", "User", "USER", "²", "a b"]
)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("A user's profile", "user_profile"),
        ("Sign in by e-mail", "sign_in_by_email"),
        ("All orders in one status (admin)", "all_orders_in_one_status"),
        ("Cancel an order, return its stock", "cancel_order"),
        ("The front page: newest posts of all authors", "front_page"),
        ("Orders of the last 7 days", "orders_of_last_7_days"),
        ("7 days of orders", "get_7_days_of_orders"),
        ("List", "list_"),
        ("Delete", "delete"),
        ("import", "import_"),
        ("Заказы пользователя", "заказы_пользователя"),
        ("🙂", "ap_001"),
        ("", "ap_001"),
        ("The", "the"),
    ],
)
def test_method_name_is_made_from_the_description(description: str, name: str) -> None:
    assert method_name(Read("AP-001", description=description)) == name


def test_a_write_that_begins_with_a_number_is_done() -> None:
    assert method_name(Write("AP-1", description="2nd try")) == "do_2nd_try"


def test_a_name_counts_more_than_a_description() -> None:
    assert method_name(Read("AP-1", name="getUserByID", description="Someone")) == "get_user_by_id"


@pytest.mark.parametrize(
    ("given_name", "name"),
    [("sign in", "sign_in"), ("groups of", "groups_of"), ("orderBy", "order_by"), ("pay, or wait", "pay_or_wait")],
)
def test_given_name_is_not_shortened(given_name: str, name: str) -> None:
    assert method_name(Read("AP-1", name=given_name, description="Someone")) == name


def test_a_long_description_is_cut_between_words() -> None:
    name = method_name(
        Read("AP-1", description="Every order of every user of every shop in each of the countries we serve")
    )
    assert name == "every_order_of_every_user_of_every_shop_in_each"
    assert len(name) <= LONGEST


def test_equal_names_are_distinguished_by_further_words_then_ids() -> None:
    reads = ("Orders, newest first", "Orders, newest first", "Orders, newest first", "Orders")
    workload = Workload(reads=tuple(Read(f"AP-{n}", description=text) for n, text in enumerate(reads)))
    assert list(method_names(workload).values()) == [
        "orders",
        "orders_newest_first",
        "orders_ap_2",
        "orders_ap_3",
    ]


def test_entities_that_differ_in_case_have_classes_of_their_own() -> None:
    workload = Workload(entities=(Entity("User"), Entity("user"), Entity("USER"), Entity("user item")))
    assert list(class_names(workload).values()) == ["User", "User2", "USER3", "UserItem"]


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=6), st.booleans())
def test_methods_are_valid_short_and_different(patterns: list[tuple[str, str, str]], reads: bool) -> None:
    made = tuple(
        (Read if reads else Write)(f"{id_}{n}", name, (), text) for n, (id_, name, text) in enumerate(patterns)
    )
    workload = Workload(reads=made) if reads else Workload(writes=made)  # type: ignore[arg-type]
    names = list(method_names(workload, {"db"}).values())
    assert len({name.lower() for name in names} | {"db"}) == len(patterns) + 1
    for name in names:
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert name not in RESERVED


@given(st.lists(TEXTS, unique=True, max_size=6))
def test_classes_are_valid_and_different(texts: list[str]) -> None:
    names = list(class_names(Workload(entities=tuple(map(Entity, texts)))).values())
    assert len({name.lower() for name in names}) == len(texts)
    assert all(name.isidentifier() and name not in RESERVED for name in names)


@given(TEXTS)
def test_valid_name_is_unchanged(text: str) -> None:
    name = class_name(Entity(text))
    assert name in {
        class_name(Entity(name)),
        class_name(Entity(name)).removesuffix("_"),
        f"{class_name(Entity(name))}_",
    }
    assert snake(snake(text)) == snake(text)


@pytest.mark.parametrize("name", NAMES)
def test_methods_of_every_document_are_different(name: str) -> None:
    workload = designed(name)[0]
    names = method_names(workload)
    assert len(set(names.values())) == len(workload.patterns)
