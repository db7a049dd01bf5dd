"""Checks of experts' designs find the known defects, and no others."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from tests.solutions import solve

from corpus.convert import convert
from corpus.expert import expert_design, has_design
from corpus.source import CorpusError, Fields
from prejoin.design.checks import check_design
from prejoin.design.files import design_of
from prejoin.design.model import Design, Facet, Projection, ProjectionKind
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.workload.data_tree import read_tree
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/expert.yaml"))

EXPECTED = {
    "aws_bank_payments": {"PJ522": 1, "PJ561": 2, "PJ590": 1, "PJ591": 1},
    "aws_bookmarks": {"PJ525": 1, "PJ585": 1, "PJ590": 1, "PJ594": 1},
    "aws_device_status": {"PJ522": 1, "PJ590": 1, "PJ591": 1, "PJ595": 1},
    "aws_gaming_profile": {"PJ546": 1},
    "aws_invoices_bills": {
        "PJ519": 2, "PJ536": 1, "PJ571": 1, "PJ582": 1, "PJ584": 1, "PJ587": 1, "PJ590": 1,
    },
    "aws_online_shop": {"PJ522": 2, "PJ590": 1, "PJ591": 1},
    "aws_retail_cart": {
        "PJ515": 1, "PJ521": 1, "PJ522": 1, "PJ550": 1, "PJ551": 1, "PJ561": 1, "PJ590": 1, "PJ591": 1,
    },
    "aws_session_management": {"PJ531": 1, "PJ537": 1},
    "aws_ski_resort": {
        "PJ513": 2, "PJ525": 1, "PJ534": 1, "PJ545": 1, "PJ571": 2, "PJ583": 1, "PJ590": 1, "PJ594": 1,
    },
    "aws_social_network": {"PJ543": 1, "PJ590": 1},
    "debrie_ecommerce": {"PJ557": 1, "PJ573": 1, "PJ590": 1},
    "debrie_instagram": {"PJ550": 2, "PJ590": 1, "PJ604": 2},
    "debrie_session_store": {"PJ569": 1, "PJ590": 1},
    "electrodb_library": {"PJ516": 4, "PJ522": 2, "PJ524": 2, "PJ542": 1},
    "electrodb_shopping_mall": {"PJ522": 1, "PJ561": 1},
    "houlihan_flight_fares": {
        "PJ510": 1, "PJ512": 7, "PJ525": 5, "PJ545": 8, "PJ583": 1, "PJ590": 1, "PJ594": 4,
    },
    "onetable_overview": {"PJ511": 1, "PJ524": 4, "PJ534": 4, "PJ571": 4, "PJ590": 1},
    "seed_music_ranking": {
        "PJ514": 1, "PJ515": 2, "PJ520": 2, "PJ521": 1, "PJ524": 3, "PJ539": 1, "PJ540": 1, "PJ551": 3, "PJ564": 6,
        "PJ555": 1, "PJ561": 6, "PJ571": 1, "PJ583": 1, "PJ587": 1, "PJ590": 1,
    },
}  # fmt: skip

KNOWN = [
    ("aws_bank_payments", "PJ561", "AP4 moves Payment"),
    ("aws_bookmarks", "PJ585", "`ByEmail`, `ByUrl`"),
    ("aws_gaming_profile", "PJ546", "AP4 filters by `ItemType`"),
    ("aws_invoices_bills", "PJ582", "no pattern needs the index GSI_1"),
    ("aws_retail_cart", "PJ515", "`Status` is in the table's key"),
    ("aws_session_management", "PJ537", "AP2 is a GetItem, which needs the whole key, and `customerId` is not given"),
    ("aws_session_management", "PJ531", "AP6, Session by customerId sorted by last_login_time descending"),
    ("aws_ski_resort", "PJ513", "`Date:MM/DD/YY`"),
    ("electrodb_library", "PJ542", "AP7 is about overdue items"),
    ("houlihan_flight_fares", "PJ594", "Fare:"),
    ("houlihan_flight_fares", "PJ525", "Fare ({origin} / {dest}#{start}#{class}) and Flight"),
    ("houlihan_flight_fares", "PJ583", "no pattern reads Fare in GSI1"),
    ("onetable_overview", "PJ571", "`user#`"),
    ("onetable_overview", "PJ511", "`account#{name}{accountId}`"),
    ("seed_music_ranking", "PJ520", "`username` of User"),
    ("seed_music_ranking", "PJ520", "`email` of User"),
    ("seed_music_ranking", "PJ515", "`score`"),
    ("seed_music_ranking", "PJ515", "`averageScore`"),
    ("seed_music_ranking", "PJ564", "AP-021 writes GlobalRating without `averageScore`, `songKey`"),
    ("seed_music_ranking", "PJ564", "AP-030 writes Song without `score`"),
    ("seed_music_ranking", "PJ539", "AP-001 is a Query"),
    ("seed_music_ranking", "PJ583", "no pattern reads Song/title copy in GSI2"),
    ("seed_music_ranking", "PJ514", "`averageScore:floor`"),
    ("seed_music_ranking", "PJ555", "AP-022 has two actions on the same Song/title copy"),
]
"""Known defects and unnecessary costs of the designs."""


@cache
def workload(name: str) -> Workload:
    return read_file(HERE / name / "access-patterns.md").workload


@cache
def design(name: str) -> Design:
    tree, spans = read_tree((HERE / name / "expert.yaml").read_text("utf-8"), "yaml")
    return design_of(tree, spans)


@cache
def diagnostics_of(name: str) -> tuple[Diagnostic, ...]:
    return check_design(design(name), workload(name))


def test_all_experts_are_here() -> None:
    assert sorted(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_diagnostics_of_expert_designs_are_right(name: str) -> None:
    assert dict(Counter(d.code for d in diagnostics_of(name))) == EXPECTED[name]


@pytest.mark.parametrize(("name", "code", "part"), KNOWN, ids=[f"{name}-{code}" for name, code, _ in KNOWN])
def test_a_known_defect_is_found(name: str, code: str, part: str) -> None:
    assert [d for d in diagnostics_of(name) if d.code == code and part in d.message] != []


@pytest.mark.everyday(5)
@pytest.mark.parametrize("name", sorted(path.parent.name for path in HERE.glob("*/access-patterns.md")))
def test_own_design_has_no_errors(name: str) -> None:
    diagnostics = check_design(solve(workload(name)).design, workload(name))
    assert [d for d in diagnostics if d.severity is Severity.ERROR] == []


def test_prefixes_that_only_the_separator_tells_apart_are_told_when_it_is_left_out() -> None:
    shop = design("aws_online_shop")
    found = shop.operation("AP8")
    assert found is not None
    (request,) = found.requests
    assert request.sk == SortCondition("begins_with", "sh#")
    loose = replace(found, requests=(replace(request, sk=SortCondition("begins_with", "sh")),))
    changed = replace(shop, operations=tuple(loose if o is found else o for o in shop.operations))
    diagnostics = [d for d in check_design(changed, workload("aws_online_shop")) if d.code == "PJ538"]
    assert [d.message for d in diagnostics] == ["AP8: `begins_with sh` also finds `ShipmentItem`"]


def bank(shards: int, kind: ProjectionKind) -> list[str]:
    """The fixes for the bank's hot partition with this number of shards."""
    of = design("aws_bank_payments")
    (item,) = of.items
    base, index = item.facets
    pk = f"{{AccountID:shard({shards})}}" if shards > 1 else "ALL"
    facets = (base, Facet(index.slot, (pk,), index.sk))
    slots = (of.slots[0], replace(of.slots[1], projection=Projection(kind)))
    changed = replace(of, items=(replace(item, facets=facets),), slots=slots)
    diagnostics = check_design(changed, workload("aws_bank_payments"))
    return [d.fix for d in diagnostics if d.code == "PJ570"]


def test_the_bank_needs_five_shards_and_with_keys_only_one() -> None:
    assert bank(5, ProjectionKind.ALL) == []
    assert bank(4, ProjectionKind.ALL) != []
    assert bank(1, ProjectionKind.KEYS_ONLY) == []


SMALL = """
name: small
title: A small thing
entities:
  - {name: Score, id: [gameId, playerId], attributes: {gameId: S, playerId: S, points: N, name: S}, mutable: [points]}
access_patterns:
  - {id: A1, kind: read, entities: [Score], given: [gameId], sort: {attr: points, dir: desc}, returns: many}
expert_solution:
  table: {pk: PK, sk: SK}
  gsis: [{name: GSI1, pk: GSI1PK, sk: GSI1SK, projection: "INCLUDE [name]"}, {name: ByName, pk: name, sk: points}]
  lsis: [{name: LSI1, pk: PK, sk: points}]
  keys:
    Score: {PK: "GAME#{gameId}", SK: "{lower(playerId)}", GSI1PK: "rand(0..3)", GSI1SK: "{pad6(999999-points)}#{playerId}"}
  operations: [{ap: A1, op: Query x4, index: GSI1, key: "GSI1PK, GSI1SK begins_with P#"}]
"""


def small(text: str = SMALL) -> Design:
    fields = Fields(yaml.safe_load(text), "small.yaml")
    return expert_design(fields, convert(Fields(yaml.safe_load(text), "small.yaml")))


def test_prose_key_becomes_a_template() -> None:
    (item,) = small().items
    assert [(f.slot, f.pk, f.sk) for f in item.facets] == [
        ("table", ("GAME#{gameId}",), ("{playerId:lower}",)),
        ("GSI1", ("{gameId:shard(4)}",), ("{points:06d,desc}#{playerId}",)),
        ("ByName", ("{name}",), ("{points}",)),
        ("LSI1", ("GAME#{gameId}",), ("{points}",)),
    ]


def test_indexes_keep_their_projection_their_types_and_whether_they_are_local() -> None:
    _, gsi1, by_name, local = small().slots
    assert gsi1.projection == Projection(ProjectionKind.INCLUDE, ("name",))
    assert [a.type for a in (*by_name.pk, *by_name.sk)] == ["S", "N"]
    assert [slot.local for slot in (gsi1, by_name, local)] == [False, False, True]


def test_an_operation_is_what_the_file_says() -> None:
    (operation,) = small().operations
    (request,) = operation.requests
    assert (request.slot, request.shards, str(request.sk), request.reverse) == ("GSI1", 4, "begins_with P#", False)


def test_a_file_without_keys_for_dynamodb_has_no_design() -> None:
    text = SMALL.replace("table: {pk: PK, sk: SK}", "table: {pk: n/a, sk: n/a}")
    assert not has_design(Fields(yaml.safe_load(text), "small.yaml"))
    with pytest.raises(CorpusError, match=r"small\.yaml: expert_solution: keys: there is no design"):
        small(text)
