"""Typed changes: the records of a stream, in every form that AWS delivers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.streams.shop import SCHEMA, Order, User, shop

from prejoin import CodecError, Embedded, NotFound, StreamChange, StreamRecordError, read_changes

Record = dict[str, Any]


def in_lambda(records: list[Record]) -> Any:
    return {"Records": [{**r, "eventSource": "aws:dynamodb", "eventSourceARN": "arn:aws:dynamodb:…"} for r in records]}


def in_pipe(records: list[Record]) -> Any:
    return [{**r, "eventSource": "aws:dynamodb"} for r in records]


def data(record: Record) -> str:
    """The record as DynamoDB puts it into a Kinesis stream: without a sequence number, the time in milliseconds."""
    change = {k: v for k, v in record["dynamodb"].items() if k not in ("SequenceNumber", "StreamViewType")}
    change["ApproximateCreationDateTime"] = int(change["ApproximateCreationDateTime"] * 1000)
    return base64.b64encode(json.dumps({**record, "tableName": "shop", "dynamodb": change}).encode()).decode()


def number(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def in_kinesis(records: list[Record]) -> Any:
    return {"Records": [{"kinesis": {"data": data(r), "sequenceNumber": number(r)}, "eventID": "s:1"} for r in records]}


def in_kinesis_pipe(records: list[Record]) -> Any:
    return [{"data": data(r), "sequenceNumber": number(r), "eventSource": "aws:kinesis"} for r in records]


def from_boto3(records: list[Record]) -> Any:
    """boto3 decodes binary values and times."""

    def native(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: base64.b64decode(v) if k == "B" and isinstance(v, str) else native(v) for k, v in value.items()}
        return value

    made: list[Any] = [native(r) for r in records]
    for one in made:
        moment = one["dynamodb"]["ApproximateCreationDateTime"]
        one["dynamodb"]["ApproximateCreationDateTime"] = datetime.fromtimestamp(moment, UTC)
    return made


def some_records() -> list[Record]:
    with Embedded() as engine:
        db = shop(engine)
        stream = engine.changes("shop")
        db.insert(User("1", "a@b.com", b"\x00\xff"))
        db.insert(Order("1", "o1", "PAID", 30, {"a", "b"}))
        with db.update(Order, read=True, user_id="1", order_id="o1") as order:
            order.status = "SHIPPED"
        db.delete(Order, read=True, user_id="1", order_id="o1")
        return stream.read()


def seen(changes: list[StreamChange[Any]]) -> list[tuple[Any, ...]]:
    return [(c.entity, c.kind, c.old, c.new, c.changed, c.id, c.sequence) for c in changes]


@pytest.mark.parametrize("form", [list, in_lambda, in_pipe, in_kinesis, in_kinesis_pipe, from_boto3])
def test_each_form_gives_the_same_changes(form: Callable[[list[Record]], Any]) -> None:
    records = some_records()
    assert len(records) > 4  # of the copy and the guard, too
    changes = list(read_changes(SCHEMA, form(records)))
    paid, shipped = Order("1", "o1", "PAID", 30, {"a", "b"}), Order("1", "o1", "SHIPPED", 30, {"a", "b"})
    assert [(c.kind, c.old, c.new) for c in changes] == [
        ("insert", None, User("1", "a@b.com", b"\x00\xff")),
        ("insert", None, paid),
        ("update", paid, shipped),
        ("delete", shipped, None),
    ]
    assert changes[2].changed == {"status"}
    assert seen(changes) == seen(list(read_changes(SCHEMA, records)))
    moments = [change.at for change in changes]
    assert all(at is not None and abs((at - datetime.now(UTC)).total_seconds()) < 3600 for at in moments)


def test_order_of_a_set_is_no_change() -> None:
    (record,) = [r for r in some_records() if r["eventName"] == "MODIFY" and "Order" in str(r) and "USER" in str(r)]
    change = record["dynamodb"]
    new = {**change["NewImage"], "tags": {"SS": change["NewImage"]["tags"]["SS"][::-1]}}
    (found,) = read_changes(SCHEMA, [{**record, "dynamodb": {**change, "NewImage": new}}])
    assert found.changed == {"status"}


@pytest.mark.parametrize(("view", "old", "new"), [("KEYS_ONLY", 0, 0), ("NEW_IMAGE", 0, 1), ("OLD_IMAGE", 1, 0)])
def test_images_are_those_of_the_view(view: str, old: bool, new: bool) -> None:
    with Embedded() as engine:
        db = shop(engine, view)
        db.insert(User("1", "a@b.com"))
        stream = engine.changes("shop")
        with db.update(User, user_id="1") as user:
            user.photo = b"1"
        (change,) = read_changes(SCHEMA, stream)
    assert (change.entity, change.kind) == (User, "update")
    assert (change.old is not None, change.new is not None) == (old, new)
    assert change.key == SCHEMA.key(User, user_id="1")


def test_expired_item_is_marked() -> None:
    record = next(r for r in some_records() if r["eventName"] == "REMOVE" and "ORDER#o1" in str(r["dynamodb"]["Keys"]))
    for identity in (
        {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
        {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},
    ):
        (change,) = read_changes(SCHEMA, [{**record, "userIdentity": identity}])
        assert change.expired
    (change,) = read_changes(SCHEMA, [record])
    assert not change.expired


def test_item_of_other_software_is_left_out() -> None:
    with Embedded() as engine:
        db = shop(engine)
        stream = engine.changes("shop")
        db.call("PutItem", {"Item": {"pk": {"S": "other"}, "sk": {"S": "thing"}}})
        db.call("PutItem", {"Item": {"pk": {"S": "x"}, "sk": {"S": "y"}, "entityType": {"S": "Thing"}}})
        assert list(read_changes(SCHEMA, stream)) == []


def test_item_that_does_not_fit_its_class_is_an_error() -> None:
    with Embedded() as engine:
        db = shop(engine)
        stream = engine.changes("shop")
        db.call("PutItem", {"Item": {**SCHEMA.key(User, user_id="1"), "entityType": {"S": "User"}}})
        with pytest.raises(CodecError, match="User USER#1 / USER"):
            list(read_changes(SCHEMA, stream))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({}, "no Records"),
        ({"Records": "text"}, "no Records"),
        ([{}], "record 0 is not of a DynamoDB stream"),
        ([{"eventName": "INSERT", "eventID": "1", "dynamodb": {}}], "record 0"),
        ([{"eventName": "MOVED", "eventID": "1", "dynamodb": {"Keys": {}}}], "MOVED"),
        ({"Records": [{"kinesis": {"data": "%", "sequenceNumber": "1"}}]}, "record 0"),
        ({"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}, "record 0"),
        ([None], "record 0"),
    ],
)
def test_other_event_is_refused(event: Any, message: str) -> None:
    with pytest.raises(StreamRecordError, match=message):
        list(read_changes(SCHEMA, event))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "update", "delete"]), st.sampled_from("123"), st.sampled_from(["PAID", "SHIPPED"])
    ),
    max_size=25,
)


@given(STEPS)
def test_changes_rebuild_the_table(steps: list[tuple[str, str, str]]) -> None:
    """Changes, applied in order, give the objects of the table: none is missing, repeated or out of order."""
    rebuilt: dict[str, Order] = {}
    with Embedded() as engine:
        db = shop(engine)
        stream = engine.changes("shop")
        for verb, order_id, status in steps:
            with suppress(NotFound):
                if verb == "put":
                    db.put(Order("1", order_id, status), read=True)
                elif verb == "delete":
                    db.delete(Order, read=True, user_id="1", order_id=order_id)
                else:
                    with db.update(Order, read=True, user_id="1", order_id=order_id) as order:
                        order.status = status
                        order.total += 1
        for change in read_changes(SCHEMA, stream):
            order_id = (change.new or change.old).order_id  # type: ignore[union-attr]
            assert rebuilt.get(order_id) == change.old
            if change.new is None:
                del rebuilt[order_id]
            else:
                rebuilt[order_id] = change.new
        assert sorted(rebuilt.values(), key=lambda o: o.order_id) == list(db.query(Order, user_id="1").items)
