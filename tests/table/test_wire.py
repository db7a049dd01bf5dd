"""The fast decoder of many items gives the same results as decoding item by item."""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin import CodecError, SchemaError
from prejoin.table.codec.codec import Codec, value_codec
from prejoin.types import Kind, Type


class Colour(Enum):
    RED = "red"
    BLUE = "dark blue"


class Lenient(Enum):
    """An enum that accepts any text; an item with an unknown text is damaged nevertheless."""

    ONE = "one"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.ONE


Name = NewType("Name", str)


@dataclass
class Part:
    sku: str
    qty: int = 1
    price: Decimal | None = None


@dataclass
class Tree:
    label: str
    children: list[Tree] = field(default_factory=list)


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    Name: st.text(max_size=8),
    Annotated[str, Type(Kind.ULID)]: st.just("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    int: st.integers(-(10**37), 10**37),
    Decimal: NUMBERS,
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=8),
    date: st.dates(),
    datetime: MOMENTS,
    uuid.UUID: st.uuids(),
    Colour: st.sampled_from(Colour),
    Lenient: st.sampled_from(Lenient),
    Literal["OPEN", "null", "true", "1"]: st.sampled_from(["OPEN", "null", "true", "1"]),
    int | Decimal: st.integers(-(10**20), 10**20) | st.just(Decimal("0.5")),
    Any: st.none() | st.text(max_size=3) | st.integers(-9, 9) | st.lists(st.booleans(), max_size=2),
    Part: st.builds(Part, st.text(max_size=3), st.integers(0, 9), st.none() | NUMBERS),
    Tree: st.builds(Tree, st.text(max_size=3), st.lists(st.builds(Tree, st.text(max_size=3)), max_size=2)),
}
MEMBERS = [str, int, Decimal, float, bytes, date, datetime, uuid.UUID, Colour, Lenient, Name]

Typed = tuple[Any, st.SearchStrategy[Any]]


def typed(depth: int = 2) -> st.SearchStrategy[Typed]:
    """A type of an attribute, and a strategy for its values."""
    scalar = st.sampled_from(list(SCALARS.items()))
    sets = st.sampled_from(MEMBERS).flatmap(
        lambda hint: st.sampled_from(
            [
                (set[hint], st.sets(SCALARS[hint], max_size=3)),  # type: ignore[valid-type]
                (frozenset[hint], st.frozensets(SCALARS[hint], max_size=3)),  # type: ignore[valid-type]
            ]
        )
    )
    if not depth:
        return scalar | sets
    inner = typed(depth - 1)
    return st.one_of(
        scalar,
        sets,
        inner.map(lambda of: (list[of[0]], st.lists(of[1], max_size=3))),
        inner.map(lambda of: (tuple[of[0], ...], st.lists(of[1], max_size=3).map(tuple))),
        inner.map(lambda of: (dict[str, of[0]], st.dictionaries(st.text(max_size=3), of[1], max_size=3))),
        scalar.map(lambda of: (of[0] | None, st.none() | of[1]) if of[0] is not Any else of),
    )


def a_dataclass(fields: list[tuple[str, Any]], defaults: dict[str, Any]) -> type:
    made = [(n, h, field(default_factory=lambda n=n: defaults[n])) if n in defaults else (n, h) for n, h in fields]
    return make_dataclass("Made", made, kw_only=len(fields) % 2 == 0)


def a_struct(fields: list[tuple[str, Any]], defaults: dict[str, Any]) -> type:
    made = [
        (n, h, msgspec.field(default_factory=lambda n=n: defaults[n])) if n in defaults else (n, h) for n, h in fields
    ]
    return msgspec.defstruct("Made", made, rename="camel", kw_only=len(fields) % 2 == 0)


def a_model(fields: list[tuple[str, Any]], defaults: dict[str, Any]) -> type:
    made: dict[str, Any] = {
        n: (h, pydantic.Field(alias=f"{n}-alias", default_factory=lambda n=n: defaults[n]))
        if n in defaults
        else (h, pydantic.Field(alias=f"{n}-alias"))
        for n, h in fields
    }
    return pydantic.create_model("Made", **made)


def _default(hint: Any, value: Any) -> Any:
    """An allowed default: None and empty sets are stored as absent, and must not be read as other values."""
    codec = value_codec(hint)
    if codec.optional:
        return None
    return codec.empty() if codec.empty else value


@st.composite
def records(draw: st.DrawFn) -> Any:
    """An object of some class with attributes of any types, some of them with defaults."""
    count = draw(st.integers(1, 5))
    chosen = [(f"at_{i}", *draw(typed())) for i in range(count)]
    with_default = draw(st.integers(0, count))
    defaults = {name: _default(hint, draw(values)) for name, hint, values in chosen[count - with_default :]}
    make = draw(st.sampled_from([a_dataclass, a_struct, a_model]))
    cls = make([(name, hint) for name, hint, _ in chosen], defaults)
    given = {name: draw(values) for name, _, values in chosen}
    if make is a_model:
        return cls(**{f"{name}-alias": value for name, value in given.items()})
    return cls(**given)


def fast(codec: Codec[Any], item: bytes) -> Any:
    return codec.make(msgspec.json.decode(item, type=codec.struct()))


def seen(value: Any) -> str:
    """A value with details that equality ignores: types, time zones, digits of decimals."""
    if isinstance(value, set | frozenset):
        return f"{type(value)}{sorted(map(seen, value))}"
    if isinstance(value, list | tuple):
        return f"{type(value)}{list(map(seen, value))}"
    if isinstance(value, dict):
        return f"{sorted((name, seen(one)) for name, one in value.items())}"
    if dataclasses.is_dataclass(value) or isinstance(value, msgspec.Struct | pydantic.BaseModel):
        return f"{type(value)}{[(name, seen(getattr(value, name))) for name in Codec.of(type(value)).attributes]}"
    return repr(value)


@given(records())
def test_written_items_are_read_the_same_by_both_clients(record: Any) -> None:
    codec: Codec[Any] = Codec.of(type(record))
    item = msgspec.json.encode(codec.encode(record))
    slowly = codec.decode(msgspec.json.decode(item))
    assert slowly == record
    assert seen(fast(codec, item)) == seen(slowly)


DAMAGES: list[Any] = [
    None,
    {"S": "x"},
    {"S": "1"},
    {"S": "null"},
    {"S": "true"},
    {"S": "1700000000"},
    {"S": "2026-05-04"},
    {"S": "2026-05-04T01:02:03"},
    {"S": "2026-05-04T01:02:03.1234567+01:00"},
    {"N": "1"},
    {"N": "1.5"},
    {"N": "3.0"},
    {"N": "1E+3"},
    {"N": "1.00000000000000000001"},
    {"B": "AP8="},
    {"BOOL": True},
    {"NULL": True},
    {"SS": ["a"]},
    {"NS": ["1", "2.5"]},
    {"BS": ["AA=="]},
    {"L": []},
    {"L": [{"N": "1"}, {"S": "a"}]},
    {"M": {}},
    {"M": {"sku": {"S": "7"}}},
    {"M": {"sku": {"N": "7"}}},
]


@given(records(), st.data())
def test_damaged_item_is_read_as_by_the_slow_decoder(record: Any, data: st.DataObject) -> None:
    codec: Codec[Any] = Codec.of(type(record))
    item = codec.encode(record)
    name = data.draw(st.sampled_from([one.wire for one in codec.attributes.values()]))
    damage = data.draw(st.sampled_from(DAMAGES))
    item.pop(name, None)
    if damage is not None:
        item[name] = damage
    body = msgspec.json.encode(item)
    try:
        quickly = fast(codec, body)
    except Exception:
        return  # the slow decoder names the error, or finds none
    assert seen(quickly) == seen(codec.decode(msgspec.json.decode(body)))


class ParentAggregate(msgspec.Struct, kw_only=True):
    kept: str
    more: list[int] = []


@dataclass
class Checked:
    low: int
    high: int = 9

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("upside down")


def test_constructors_run_and_defaults_are_their_own() -> None:
    one, two = (fast(Codec.of(ParentAggregate), b'{"kept":{"S":"a"}}') for _ in range(2))
    assert one == ParentAggregate(kept="a")
    assert one.more is not two.more
    with pytest.raises(ValueError, match="upside down"):
        fast(Codec.of(Checked), b'{"low":{"N":"10"}}')
    assert fast(Codec.of(Checked), b'{"low":{"N":"1"}}') == Checked(1)


class Model(pydantic.BaseModel):
    user_id: str = pydantic.Field(alias="userId")
    age: int = pydantic.Field(ge=0)
    email: str
    seen: datetime | None = None
    parts: list[Part] = []

    @pydantic.field_validator("email")
    @classmethod
    def folded(cls, value: str) -> str:
        return value.lower()


def test_a_pydantic_model_has_its_aliases_in_the_table_and_its_validators_run() -> None:
    codec = Codec.of(Model)
    item = codec.encode(Model(userId="1", age=3, email="A@B.com"))
    assert item == {"userId": {"S": "1"}, "age": {"N": "3"}, "email": {"S": "a@b.com"}, "parts": {"L": []}}
    item["email"] = {"S": "C@D.com"}
    found = fast(codec, msgspec.json.encode(item))
    assert found == codec.decode(item)
    assert found.email == "c@d.com"
    assert found.model_fields_set == {"user_id", "age", "email", "parts"}, "what was absent was not given"
    with pytest.raises(pydantic.ValidationError, match="greater than or equal to 0"):
        codec.decode({**item, "age": {"N": "-1"}})


def test_wrong_value_inside_an_object_is_named() -> None:
    @dataclass
    class Order:
        parts: list[Part]

    with pytest.raises(CodecError, match=r"Order.parts: Part.qty: .* is not an integer"):
        Codec.of(Order).decode({"parts": {"L": [{"M": {"sku": {"S": "a"}, "qty": {"N": "1.5"}}}]}})


@dataclass
class Silent:
    team: str | None = "red"


@dataclass
class Full:
    tags: set[str] = field(default_factory=lambda: {"new"})


@pytest.mark.parametrize("cls", [Silent, Full])
def test_default_that_absence_cannot_represent_is_refused(cls: type) -> None:
    with pytest.raises(SchemaError, match="is not stored, so it would be read as its default"):
        Codec.of(cls)
