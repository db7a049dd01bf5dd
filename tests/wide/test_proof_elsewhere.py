"""Designs proven on another local DynamoDB: the same results, with the units that our engine counts."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from tests.proof.league import league_design, league_workload
from tests.shop import shop_design, shop_workload

from prejoin.design.model import Design
from prejoin.design.solver.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import Transport
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

pytestmark = pytest.mark.wide
ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261115T120000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDLOCAL/20261115/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=0",
}
Designed = tuple[Workload, Design]


class Elsewhere:
    """A transport to a server that ignores signatures."""

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


def solved(path: str) -> Callable[[], Designed]:
    def found() -> Designed:
        workload = read_file(ROOT / path / "access-patterns.md").workload
        return workload, solve(workload).design

    return found


DESIGNS: dict[str, Callable[[], Designed]] = {
    "shop by hand": lambda: (shop_workload(), shop_design()),
    "league": lambda: (league_workload(), league_design()),
    "shop": solved("examples/shop"),
    "blog": solved("examples/blog"),
    "files": solved("examples/files"),
    "metrics": solved("examples/metrics"),
    "music": solved("tests/corpus/seed_music_ranking"),
    "library": solved("tests/corpus/electrodb_library"),
    "instagram": solved("tests/corpus/debrie_instagram"),
}


def proof(workload: Workload, design: Design, transport: Transport) -> Proof:
    return prove(workload, design, transport, now=NOW)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_proven_there_and_costs_what_ours_says(name: str, other_url: str) -> None:
    workload, design = DESIGNS[name]()
    design = replace(design, table=f"proof-{name.replace(' ', '-')}")
    with closing(Elsewhere(other_url)) as elsewhere:
        theirs = proof(workload, design, elsewhere)
    with Embedded() as engine:
        ours = proof(workload, design, engine)
    assert [(a.pattern, a.wrong, a.problem) for a in theirs.failed] == []
    assert theirs.findings == ()
    assert {a.pattern: (a.items, a.cases, a.pages, a.refused, a.units) for a in theirs.patterns} == {
        a.pattern: (a.items, a.cases, a.pages, a.refused, a.units) for a in ours.patterns
    }
