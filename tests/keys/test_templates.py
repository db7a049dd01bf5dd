"""Key templates: building keys, reading them back, and refusals."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum

import pytest

from prejoin.keys import KeyValueError, Template, TemplateError, disjoint, prefix_free
from prejoin.keys.template.specs import buckets
from prejoin.types import Kind, Type

TYPES = {
    "user_id": Type(Kind.STRING),
    "order_id": Type(Kind.STRING),
    "placed_at": Type(Kind.DATETIME),
    "born": Type(Kind.DATE),
    "n": Type(Kind.INTEGER),
    "price": Type(Kind.DECIMAL),
    "active": Type(Kind.BOOLEAN),
    "status": Type(Kind.ENUM, values=("PENDING", "SHIPPED")),
    "uid": Type(Kind.UUID),
    "ulid": Type(Kind.ULID),
    "blob": Type(Kind.BINARY),
    "tags": Type(Kind.SET),
}
NOON = datetime(2026, 5, 4, 12, 0, 0, 250, tzinfo=UTC)


def template(text: str, **options: object) -> Template:
    return Template.of(text, TYPES, **options)  # type: ignore[arg-type]


def test_a_template_without_fields_is_a_constant() -> None:
    assert template("PROFILE").build({}) == "PROFILE"
    assert template("PROFILE").parse("PROFILE") == {}


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("ORDER#{placed_at}#{order_id}", {"placed_at": NOON, "order_id": "7"}, "ORDER#2026-05-04T12:00:00.000250Z#7"),
        ("{born}", {"born": date(2026, 5, 4)}, "2026-05-04"),
        ("{born:desc}", {"born": date(2026, 5, 4)}, "7973-94-95"),
        ("{n:06d}", {"n": 42}, "000042"),
        ("{n:4,desc}", {"n": 42}, "9957"),
        ("{n}", {"n": 42}, "B42"),
        ("{n}", {"n": -5}, "-l4~"),
        ("{n:desc}", {"n": 5}, "-l4~"),
        ("{price}", {"price": Decimal("19.90")}, "B19.9"),
        ("{price:09.2f}", {"price": Decimal("19.9")}, "000019.90"),
        ("{price:6.1,desc}", {"price": Decimal("19.9")}, "9980.0"),
        ("{placed_at:seconds}", {"placed_at": NOON.replace(microsecond=0)}, "2026-05-04T12:00:00Z"),
        ("{placed_at:millis}", {"placed_at": NOON.replace(microsecond=7000)}, "2026-05-04T12:00:00.007Z"),
        ("{placed_at:seconds,desc}", {"placed_at": NOON.replace(microsecond=0)}, "7973-94-95T87:99:99Z"),
        ("POST#{born?}#{n?:04d}", {"born": None, "n": None}, "POST##"),
        ("POST#{born?}#{n?:04d}", {"born": date(2026, 5, 4), "n": 7}, "POST#2026-05-04#0007"),
        ("{n?:desc}", {"n": None}, "~"),
        ("U#{user_id?}", {"user_id": ""}, "U#$-"),
        ("U#{blob?}", {"blob": b""}, "U#$-"),
        ("{active}#{status}", {"active": True, "status": "SHIPPED"}, "true#SHIPPED"),
        ("{uid}", {"uid": uuid.UUID(int=7)}, "00000000-0000-0000-0000-000000000007"),
        ("{ulid}", {"ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        ("{blob}", {"blob": b"\x00\xff"}, "00ff"),
        ("U#{user_id}", {"user_id": "a@b.com/é-_:.🙂"}, "U#a@b.com/é-_:.🙂"),
        ("U#{user_id}", {"user_id": "{n}#%'\"\n $"}, "U#{n}$23%'$22$0A$20$24"),
    ],
)
def test_values_become_a_key_and_come_back(text: str, values: dict[str, object], key: str) -> None:
    assert template(text).build(values) == key
    assert template(text).parse(key) == values


def test_the_same_moment_is_the_same_key_in_any_time_zone() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert template("{placed_at}").build({"placed_at": there}) == template("{placed_at}").build({"placed_at": NOON})


def test_enum_members_are_encoded_as_values() -> None:
    class Status(Enum):
        WAITING = "PENDING"

    assert template("{status}").build({"status": Status.WAITING}) == "PENDING"


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("minute", "2026-05-04T12:00"),
        ("hour", "2026-05-04T12"),
        ("day", "2026-05-04"),
        ("week", "2026-W19"),
        ("month", "2026-05"),
        ("year", "2026"),
    ],
)
def test_time_buckets_are_derived_and_not_read_back(unit: str, value: str) -> None:
    assert template(f"{{placed_at:{unit}}}").build({"placed_at": NOON}) == value
    assert template(f"{{placed_at:{unit}}}").parse(value) == {}


def test_week_bucket_uses_iso_year() -> None:
    weekly = template("{born:week}")
    days = [date(2026, 12, 27), date(2026, 12, 28), date(2027, 1, 3), date(2027, 1, 4)]
    assert [weekly.build({"born": day}) for day in days] == ["2026-W52", "2026-W53", "2026-W53", "2027-W01"]
    assert list(buckets("week", days[0], days[3])) == ["2026-W52", "2026-W53", "2027-W01"]


def test_shards_and_folded_case_are_derived() -> None:
    sharded = template("ALL#{order_id:shard(12)}")
    assert {sharded.build({"order_id": str(i)}) for i in range(500)} == {f"ALL#{i}" for i in range(12)}
    folded = template("{user_id:lower}#{user_id}")
    assert folded.build({"user_id": "AbC"}) == "abc#AbC"
    assert folded.parse("abc#AbC") == {"user_id": "AbC"}
    assert not folded.matches("abd#AbC")


def test_the_spec_of_a_shard_never_changes_its_hash() -> None:
    # Stored keys depend on it, so it can never change.
    assert template("{order_id:shard(1000)}").build({"order_id": "order-1"}) == "79"


def test_shard_labels_stay_stable_while_shards_are_added() -> None:
    few, many, on_the_way = (template(f"{{order_id:shard({text})}}#{{order_id}}") for text in ("8", "16", "8 of 16"))
    ids = [f"order-{number}" for number in range(200)]
    before, after = ({one.build({"order_id": id_}) for id_ in ids} for one in (few, many))
    assert before & after, "about half are where they were"
    assert {on_the_way.build({"order_id": id_}) for id_ in ids} == before
    assert all(on_the_way.matches(key) for key in before | after)
    assert not all(many.matches(key) for key in before)


def test_path_is_terminated() -> None:
    tree = template("F#{user_id:tree}")
    assert tree.build({"user_id": "/docs/a#b"}) == "F#/docs/a$23b/"
    assert tree.parse("F#/docs/a$23b/") == {"user_id": "/docs/a#b"}
    assert (tree.build({"user_id": "/"}), tree.parse("F#/")) == ("F#/", {"user_id": "/"})
    assert not tree.matches("F#/docs")
    for wrong in ("", "docs", "/docs/", "//docs"):
        with pytest.raises(KeyValueError, match="is not a path"):
            tree.build({"user_id": wrong})


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("U#{user_id}", {}, "user_id has no value"),
        ("U#{user_id}", {"user_id": None}, "user_id has no value"),
        ("U#{user_id}", {"user_id": 42}, "42 is not text"),
        ("U#{user_id}", {"user_id": "\ud800"}, "not valid Unicode"),
        ("{n}", {"n": True}, "True is not an integer"),
        ("{n}", {"n": 1.5}, "1.5 is not an integer"),
        ("{n}", {"n": 10**38}, "more than 38 digits"),
        ("{price}", {"price": Decimal("1E+999999")}, "more than 38 digits"),
        ("{n:06d}", {"n": 1_000_000}, "does not fit into 6 digits"),
        ("{n:06d}", {"n": -5}, "does not fit into 6 digits"),
        ("{price}", {"price": Decimal("NaN")}, "cannot be part of a key"),
        ("{price:09.2f}", {"price": Decimal("0.001")}, "does not fit into 9 characters with 2 after the point"),
        ("{price:09.2f}", {"price": Decimal("1000000")}, "does not fit into 9"),
        ("{price:09.2f}", {"price": Decimal("-1")}, "does not fit into 9"),
        ("{price:09.2f}", {"price": Decimal("1E+999999")}, "does not fit into 9"),
        ("{price:09.2f}", {"price": Decimal("NaN")}, "does not fit into 9"),
        ("{placed_at:seconds}", {"placed_at": NOON}, "finer than seconds: two points in time would have the same key"),
        ("X#{born?}", {}, "born has no value"),
        ("X#{born?}", {"born": "x"}, "'x' is not a date"),
        ("{placed_at}", {"placed_at": datetime(2026, 5, 4)}, "has no time zone"),
        ("{born}", {"born": NOON}, "is not a date"),
        ("{status}", {"status": "LOST"}, "one of PENDING, SHIPPED"),
        ("{uid}", {"uid": "00000000-0000-0000-0000-00000000000A"}, "UUID in its usual form"),
        ("{ulid}", {"ulid": "short"}, "is not a ULID"),
        ("{active}", {"active": 1}, "is not true or false"),
    ],
)
def test_ambiguous_value_is_refused(text: str, values: dict[str, object], message: str) -> None:
    with pytest.raises(KeyValueError, match=message):
        template(text).build(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("U#{user}", "no attribute user; did you mean user_id?"),
        ("U#{}", "'{'"),
        ("A$B", "starts an escape"),
        ("{user_id}{order_id}", "values run together"),
        ("{user_id}-{order_id}", "must be followed by '#'"),
        ("{tags}", "a set cannot be part of a key"),
        ("{user_id:06d}", "pads integers"),
        ("{user_id:desc}", "descending order is for"),
        ("{born:hour}", "has no hour"),
        ("{n:day}", "has no day"),
        ("{n:lower}", "folds text"),
        ("{n:shard(1)}", "at least two shards"),
        ("{n:shard(8 of 4)}", "8 shards are not 8 of 4"),
        ("{n:shard(4000)}", "at most 1000 shards"),
        ("{n:tree}", "writes a path, and this is a integer"),
        ("{n:weekly}", "'weekly' is not a spec"),
        ("{born:minute}", "has no minute"),
        ("{price:3.2f}", "too few for 2 decimal places"),
        ("{user_id:9.2f}", "pads decimals"),
        ("{born:seconds}", "precision of a date and time"),
        ("{born?}", "without a value of born it would be empty"),
        ("X#{placed_at?:day}", "not a derived one"),
        ("{placed_at:day,month}", "two encodings"),
    ],
)
def test_invalid_template_is_refused(text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message.replace("?", "[?]").replace("(", "[(]").replace("{", "[{]")):
        template(text)


@pytest.mark.parametrize("key", ["ORDER#2026-05-04", "ORDER#2026-02-30T12:00:00.000000Z#7", "", "order#x#y"])
def test_parse_rejects_foreign_keys(key: str) -> None:
    with pytest.raises(KeyValueError, match="is not a key of"):
        template("ORDER#{placed_at}#{order_id}").parse(key)


@pytest.mark.parametrize("key", ["U#a b", "U#a$23b#", "U#$2", "U#$41"])
def test_parse_accepts_only_canonical_text(key: str) -> None:
    assert not template("U#{user_id}").matches(key)


def test_prefix_is_terminated_so_1_never_finds_10() -> None:
    line = template("ORDER#{order_id}#LINE#{n:03d}")
    assert line.prefix({}) == "ORDER#"
    assert line.prefix({"order_id": "1"}) == "ORDER#1#LINE#"
    assert not line.build({"order_id": "10", "n": 1}).startswith(line.prefix({"order_id": "1"}))


def test_prefix_with_gap_or_whole_key_is_refused() -> None:
    line = template("ORDER#{order_id}#LINE#{n:03d}")
    with pytest.raises(KeyValueError, match="n is given, but order_id, which comes first, is not"):
        line.prefix({"n": 3})
    with pytest.raises(KeyValueError, match="a whole key, not a prefix"):
        line.prefix({"order_id": "1", "n": 3})


def test_overlapping_templates_are_detected() -> None:
    assert disjoint(template("USER#{user_id}"), template("ORDER#{order_id}"))
    assert disjoint(template("USER#{user_id}"), template("USER#{user_id}#ORDER#{order_id}"))
    assert disjoint(template("{n:06d}"), template("{n:07d}"))
    assert disjoint(template("{born}"), template("{uid}"))
    assert disjoint(template("{n}"), template("ORDER"))  # a number has a digit after its first letter
    assert not disjoint(template("USER#{user_id}"), template("USER#{order_id}"))
    assert not disjoint(template("USER#ROOT"), template("USER#{user_id}"))
    assert not disjoint(template("{user_id}#{order_id}"), template("ORDER#{order_id}"))
    assert prefix_free(template("ORDER#{order_id}"), template("ORDERLINE#{n}"))
    assert not prefix_free(template("ORDER#{order_id}"), template("ORDER#{order_id}#LINE#{n}"))


def test_raw_template_is_unescaped_but_unambiguous() -> None:
    adopted = template("user_{user_id}|{order_id}", raw=True, separator="|")
    assert adopted.build({"user_id": "a b#", "order_id": "x|y"}) == "user_a b#|x|y"
    assert adopted.parse("user_a b#|x|y") == {"user_id": "a b#", "order_id": "x|y"}
    with pytest.raises(KeyValueError, match="two values would have the same key"):
        adopted.build({"user_id": "a|b", "order_id": "x"})


def test_raw_template_allows_adjacent_fields_of_fixed_width() -> None:
    adopted = template("{born}{user_id}", raw=True)
    assert adopted.build({"born": date(2026, 5, 4), "user_id": "a"}) == "2026-05-04a"
    assert adopted.parse("2026-05-04a") == {"born": date(2026, 5, 4), "user_id": "a"}
    with pytest.raises(TemplateError, match="has no fixed width"):
        template("{user_id}{born}", raw=True)
    with pytest.raises(TemplateError, match="other programs cannot read"):
        template("X#{born?}", raw=True)


@pytest.mark.parametrize("separator", ["|", ":", "/", "_", "!", ","])
def test_separator_is_configurable(separator: str) -> None:
    text = separator.join(["ORDER", "{user_id}", "{placed_at}", "{n}"])
    values = {"user_id": f"a{separator}b", "placed_at": NOON, "n": -12}
    chosen = template(text, separator=separator)
    assert chosen.parse(chosen.build(values)) == values


@pytest.mark.parametrize("separator", ["", "##", "a", "-", " ", "~"])
def test_separator_in_values_is_escaped(separator: str) -> None:
    with pytest.raises(TemplateError, match="cannot separate"):
        template("USER", separator=separator)
