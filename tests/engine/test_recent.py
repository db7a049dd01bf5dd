"""The rows that an engine in memory keeps at hand: never another answer than the store's, and never too much."""

from __future__ import annotations

from typing import Any

import pytest

from prejoin.engine import Embedded, rows
from prejoin.engine.recent import Recent, Row

from .conftest import Ask, item


def test_a_write_broken_off_halfway_is_not_at_hand_either(shop: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", name="old"))

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rows, "update_indexes", interrupt)
        with pytest.raises(KeyboardInterrupt):
            shop("PutItem", Item=item(pk="a", sk="1", name="new"))
    assert shop("GetItem", Key=item(pk="a", sk="1"))["Item"]["name"] == {"S": "old"}
    assert shop("Scan")["Items"] == [item(pk="a", sk="1", name="old")]


def test_nothing_is_kept_of_a_file_which_others_write(tmp_path: Any) -> None:
    def get(dynamodb: Embedded) -> bytes:
        return dynamodb.send("GetItem", b'{"TableName": "t00", "Key": {"k": {"S": "a"}}}')

    def put(dynamodb: Embedded, number: int) -> None:
        dynamodb.send("PutItem", b'{"TableName": "t00", "Item": {"k": {"S": "a"}, "n": {"N": "%d"}}}' % number)

    with Embedded(tmp_path / "shared.db") as one, Embedded(tmp_path / "shared.db") as other:
        one.send(
            "CreateTable",
            b'{"TableName": "t00", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "k", '
            b'"KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}]}',
        )
        for number in range(3):
            put(one, number)
            assert get(one) == get(other) == b'{"Item":{"k":{"S":"a"},"n":{"N":"%d"}}}' % number


def test_few_rows_are_kept_and_no_large_ones() -> None:
    recent = Recent()
    for number in range(20_000):
        recent.keep(b"%d" % number, Row(1, b"{}"))
    assert 0 < len(recent) < 10_000
    recent.keep(b"k", Row(1, b"small"))
    recent.keep(b"k", Row(1, b"x" * 400_000))
    assert b"k" not in recent  # and not as it was before
    recent.keep(b"k", Row(1, b"small"))
    recent.keep(b"k", None)
    assert b"k" not in recent
