"""Objects to items and back, exactly, for every type of attribute."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prejoin import CodecError, SchemaError
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import codec_for, decode_any, encode_any
from prejoin.types import Kind, Type


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Address:
    street: str
    zip_code: str | None = None


UserId = NewType("UserId", str)


@dataclass
class Everything:
    text: str
    user: UserId
    whole: int
    exact: Decimal
    rough: float
    flag: bool
    blob: bytes
    day: date
    moment: datetime
    uid: uuid.UUID
    ulid: Annotated[str, Type(Kind.ULID)]
    colour: Colour
    status: Literal["OPEN", "DONE"]
    tags: set[str]
    numbers: frozenset[int]
    blobs: set[bytes]
    lines: list[Decimal]
    pair: tuple[int, ...]
    address: Address
    extra: dict[str, Any]
    number: int | Decimal
    note: str | None = None
    history: list[Address] = field(default_factory=list)


FULL = Everything(
    text="",
    user=UserId("u"),
    whole=-(10**30),
    exact=Decimal("12345678901234567890.123456789"),
    rough=0.1,
    flag=False,
    blob=b"\x00\xff",
    day=date(2026, 5, 4),
    moment=datetime(2026, 5, 4, 12, 30, 0, 5, tzinfo=UTC),
    uid=uuid.UUID(int=9),
    ulid="01ARZ3NDEKTSV4RRFFQ69G5FAV",
    colour=Colour.BLUE,
    status="OPEN",
    tags={"b", "a"},
    numbers=frozenset({3, 1}),
    blobs={b"x"},
    lines=[Decimal("0.10"), Decimal("-1E-20")],
    pair=(1, 2),
    address=Address("Main St"),
    extra={"deep": [1, Decimal("1.5"), None, {"x": True}], "set": {1, 2}},
    number=Decimal("0.5"),
    history=[Address("Old St", "12")],
)


def test_every_type_round_trips() -> None:
    codec = Codec.of(Everything)
    wire = msgspec.json.decode(msgspec.json.encode(codec.encode(FULL)))
    assert codec.decode(wire) == FULL


def test_the_types_are_those_of_documents_and_keys() -> None:
    kinds = {name: type_.kind for name, type_ in Codec.of(Everything).types.items()}
    assert kinds == {
        "text": Kind.STRING,
        "user": Kind.STRING,
        "whole": Kind.INTEGER,
        "exact": Kind.DECIMAL,
        "rough": Kind.NUMBER,
        "flag": Kind.BOOLEAN,
        "blob": Kind.BINARY,
        "day": Kind.DATE,
        "moment": Kind.DATETIME,
        "uid": Kind.UUID,
        "ulid": Kind.ULID,
        "colour": Kind.ENUM,
        "status": Kind.ENUM,
        "tags": Kind.SET,
        "numbers": Kind.SET,
        "blobs": Kind.SET,
        "lines": Kind.LIST,
        "pair": Kind.LIST,
        "address": Kind.MAP,
        "extra": Kind.MAP,
        "number": Kind.NUMBER,
        "note": Kind.STRING,
        "history": Kind.LIST,
    }
    assert Codec.of(Everything).types["colour"].values == ("red", "blue")


def test_on_the_wire_it_is_dynamodb_json() -> None:
    wire = Codec.of(Everything).encode(FULL)
    assert wire["exact"] == {"N": "12345678901234567890.123456789"}, "never through float"
    assert wire["rough"] == {"N": "0.1"}
    assert wire["moment"] == {"S": "2026-05-04T12:30:00.000005Z"}
    assert wire["tags"] == {"SS": ["a", "b"]}
    assert wire["address"] == {"M": {"street": {"S": "Main St"}}}
    assert "note" not in wire, "None is an attribute that is not there"


@dataclass
class Sets:
    some: set[str]
    perhaps: set[str] | None
    note: str | None


@pytest.mark.parametrize("record", [FULL, replace(FULL, note="", tags=set(), flag=True, history=[])])
def test_all_attributes_at_once_are_written_as_each_alone(record: Everything) -> None:
    codec = Codec.of(Everything)
    values = codec.values(record)
    alone = [codec.encode_values({name: value}) for name, value in values.items()]
    assert codec.encode_values(values) == {wire: value for item in alone for wire, value in item.items()}


def test_none_and_empty_sets_are_stored_as_absent() -> None:
    codec = Codec.of(Sets)
    assert codec.encode(Sets(set(), set(), None)) == codec.encode(Sets(set(), None, None)) == {}
    assert codec.encode(Sets({"a"}, {"b"}, "")) == {"some": {"SS": ["a"]}, "perhaps": {"SS": ["b"]}, "note": {"S": ""}}
    with pytest.raises(CodecError, match=r"Sets\.some is None, but it is not optional"):
        codec.encode(Sets(None, None, None))  # type: ignore[arg-type]


class Product(msgspec.Struct, rename="camel"):
    product_id: str
    price: Decimal
    tags: frozenset[str]
    note: str | None = None


def test_structs_keep_the_names_they_ask_for_and_an_empty_set_is_an_absent_one() -> None:
    codec = Codec.of(Product)
    wire = codec.encode(Product("7", Decimal("1.50"), frozenset()))
    assert wire == {"productId": {"S": "7"}, "price": {"N": "1.50"}}
    assert codec.decode(wire) == Product("7", Decimal("1.50"), frozenset())


def test_names_can_differ_in_the_table() -> None:
    codec = Codec.of(Address, {"zip_code": "zip"})
    assert codec.encode(Address("A", "1")) == {"street": {"S": "A"}, "zip": {"S": "1"}}
    assert codec.decode({"street": {"S": "A"}, "zip": {"S": "1"}, "more": {"S": "x"}}) == Address("A", "1")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("text", None, "Everything.text is None, but it is not optional"),
        ("text", 3, "Everything.text: 3 is not text"),
        ("whole", 1.5, "1.5 is not an integer"),
        ("whole", True, "True is not an integer"),
        ("exact", Decimal("NaN"), "NaN is not a number"),
        ("rough", float("inf"), "Infinity is not a number"),
        ("day", datetime(2026, 5, 4, tzinfo=UTC), "is not a date"),
        ("moment", datetime(2026, 5, 4), "has no time zone"),
        ("colour", "green", "'green' is not one of red, blue"),
        ("tags", ["a"], "is not a set"),
        ("extra", {"x": object()}, "is not a value that an attribute can have"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name: str, value: object, message: str) -> None:
    codec = Codec.of(Everything)
    with pytest.raises(CodecError, match=message):
        codec.encode_values({**codec.values(FULL), name: value})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, "the item has no street, which Address requires"),
        ({"street": {"N": "3"}}, "Address.street: {'N': '3'} is not text"),
    ],
)
def test_invalid_item_raises_instead_of_a_partial_object(item: dict[str, Any], message: str) -> None:
    with pytest.raises(CodecError, match=message):
        Codec.of(Address).decode(item)


@dataclass
class Odd:
    x: int | str


@pytest.mark.parametrize(("cls", "message"), [(Odd, "Odd.x: .*one type"), (int, "not a dataclass")])
def test_a_class_that_cannot_be_an_item_is_refused(cls: type, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Codec.of(cls)


ANY = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.integers(-(10**20), 10**20) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANY)
def test_undeclared_values_round_trip(value: object) -> None:
    assert decode_any(msgspec.json.decode(msgspec.json.encode(encode_any(value)))) == value


class Size(Enum):
    SMALL = 1


@dataclass
class Shirt:
    size: Size


@dataclass
class Flags:
    flags: set[bool]


@dataclass
class Numbered:
    by_number: dict[int, str]


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Shirt, "Shirt.size: the values of an enum must be text, not 1"),
        (Flags, "Flags.flags: .*a set can contain text, numbers or binary"),
        (Numbered, "Numbered.by_number: .*the names in a map must be text"),
    ],
)
def test_a_type_that_dynamodb_does_not_have_is_refused(cls: type, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Codec.of(cls)


def test_numbers_that_others_wrote_are_read_exactly() -> None:
    codec = Codec.of(Everything)
    item = codec.encode(FULL)
    assert codec.decode({**item, "whole": {"N": "1E+3"}}).whole == 1000
    assert codec.decode({**item, "whole": {"N": "3.0"}}).whole == 3
    with pytest.raises(CodecError, match="is not an integer"):
        codec.decode({**item, "whole": {"N": "1.00000000000000000001"}})


def test_errors_show_the_beginning_of_a_long_value() -> None:
    with pytest.raises(CodecError) as problem:
        codec_for(int).encode("x" * 2_000_000)
    assert str(problem.value) == f"'{'x' * 199}… is not an integer"
