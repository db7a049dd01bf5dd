"""The shop proven on a DynamoDB that others wrote: the same answers, and the units that our engine counts."""

from __future__ import annotations

import http.client
from contextlib import closing
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from tests.shop import shop_design, shop_workload

from prejoin.engine import Embedded
from prejoin.proof.answer import Answer
from prejoin.proof.bench import Bench
from prejoin.proof.run import run_all
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import Transport

pytestmark = pytest.mark.wide
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261115T120000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDLOCAL/20261115/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=0",
}


class Elsewhere:
    """A server that does not look at signatures, as a transport."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)

    def send(self, operation: str, body: bytes) -> bytes:
        self._connection.request("POST", "/", body, {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"})
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise DynamoDBError.from_body(answer, response.status)
        return answer

    def close(self) -> None:
        self._connection.close()


def answers(transport: Transport) -> dict[str, Answer]:
    return {a.pattern: a for a in run_all(Bench.ready(shop_workload(), shop_design(), transport, NOW))}


def test_every_pattern_is_answered_there_as_the_data_says_and_costs_what_ours_says(other_url: str) -> None:
    with closing(Elsewhere(other_url)) as elsewhere:
        theirs = answers(elsewhere)
    with Embedded() as engine:
        ours = answers(engine)
    assert [(p, a.wrong, a.problem) for p, a in theirs.items() if not a.right] == []
    assert {p: a.items for p, a in theirs.items()} == {p: a.items for p, a in ours.items()}
    assert {p: a.units for p, a in theirs.items()} == {p: a.units for p, a in ours.items()}
