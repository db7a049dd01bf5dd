"""Time to live: what expires, when it goes, and that it goes out of the indexes too."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.engine.operations.time_to_live import EXPIRED_AT_ONCE

from .conftest import SHOP, Ask, item, send, values

NOW = 1_700_000_000
ENABLED = {"AttributeName": "expires", "Enabled": True}


def left(shop: Ask, **members: Any) -> set[str]:
    return {each["sk"]["S"] for each in shop("Scan", **members)["Items"]}


def test_expired_item_is_readable_until_removed(shop: Ask, dynamodb: Embedded) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification=ENABLED)
    shop("PutItem", Item=item(pk="a", sk="past", expires=NOW - 1, city="Bern", g1pk="x", g1sk=1))
    shop("PutItem", Item=item(pk="a", sk="future", expires=NOW + 60, city="Bern"))
    shop("PutItem", Item=item(pk="a", sk="never", city="Bern"))
    assert left(shop) == {"past", "future", "never"}
    assert dynamodb.expire(NOW) == 1
    assert left(shop) == left(shop, IndexName="by-city") == {"future", "never"}
    assert left(shop, IndexName="gsi1") == set()
    assert dynamodb.expire(NOW) == 0
    assert dynamodb.expire(NOW + 61) == 1


def test_enabling_time_to_live_covers_existing_items(shop: Ask, dynamodb: Embedded) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", expires=NOW - 1))
    assert dynamodb.expire(NOW) == 0
    shop("UpdateTimeToLive", TimeToLiveSpecification=ENABLED)
    shop("PutItem", Item=item(pk="a", sk="2", expires=NOW - 1))
    shop("UpdateTimeToLive", TimeToLiveSpecification={**ENABLED, "Enabled": False})
    assert dynamodb.expire(NOW) == 0
    shop("UpdateTimeToLive", TimeToLiveSpecification=ENABLED)
    assert dynamodb.expire(NOW) == 2


def test_update_changes_expiry(shop: Ask, dynamodb: Embedded) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification=ENABLED)
    shop("PutItem", Item=item(pk="a", sk="1", expires=NOW - 1))
    for expression, removed in (("SET expires = :t", 0), ("SET expires = :p", 1)):
        given = values(t=NOW + 9) if ":t" in expression else values(p=NOW - 9)
        shop("UpdateItem", Key=item(pk="a", sk="1"), UpdateExpression=expression, ExpressionAttributeValues=given)
        assert dynamodb.expire(NOW) == removed


@pytest.mark.parametrize(
    "expires",
    [
        str(NOW - 1),  # a text is no time
        {"L": [{"N": "1"}]},
        NOW - 5 * 365 * 86_400 - 1,  # five years back and more: taken for something else
        0,
        -5,
        10**30,
    ],
)
def test_invalid_or_old_time_never_expires(shop: Ask, dynamodb: Embedded, expires: Any) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification=ENABLED)
    shop("PutItem", Item=item(pk="a", sk="1", expires={"N": str(expires)} if isinstance(expires, int) else expires))
    assert dynamodb.expire(NOW) == 0
    assert left(shop) == {"1"}


def test_the_engine_removes_expired_items_by_itself_a_bounded_number_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prejoin.engine.embedded._EXPIRY_SECONDS", 0.0)
    with Embedded(tmp_path / "shop.db") as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        past = int(time.time()) - 10
        for number in range(EXPIRED_AT_ONCE + 50):
            send(dynamodb, "PutItem", Item=item(pk="a", sk=str(number), expires=past))
        send(dynamodb, "UpdateTimeToLive", TimeToLiveSpecification=ENABLED)
        assert send(dynamodb, "Scan", Select="COUNT")["Count"] == 50
        assert send(dynamodb, "Scan", Select="COUNT")["Count"] == 0
