"""`prejoin query`: any access pattern by its id, on sample data or on an existing table."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

from prejoin import Call, Client
from prejoin.cli.text.messages import cells
from prejoin.cli.text.query import query_page
from prejoin.engine import Embedded
from prejoin.engine.http import Server
from prejoin.pipeline.errors import InvalidArgumentError
from prejoin.pipeline.query.arguments import example, read_value
from prejoin.pipeline.query.query import QueryResult
from prejoin.proof.package import load_package
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.package import repository_methods
from prejoin.workload.files import read_file
from tests.attack.proxy import FAULTS, FaultProxy
from tests.cli.conftest import Prejoin
from tests.solutions import solve

DOCUMENTS = sorted((Path(__file__).parents[2] / "examples").glob("*/access-patterns.md"))
SHOP = Path(__file__).parents[2] / "examples" / "shop" / "access-patterns.md"


@pytest.fixture
def shop(here: Path) -> Path:
    shutil.copy(SHOP, here / "access-patterns.md")
    return here


def test_read_prints_items_requests_and_units(prejoin: Prejoin, shop: Path) -> None:
    ran = prejoin("query", "AP-004")
    assert ran.status == 0
    assert "user_orders(user_id=" in ran.out
    assert "Query on gsi1  USER#" in ran.out
    assert "1 request, " in ran.out
    result = prejoin("query", "ap-004", "--format", "json").json["result"]
    times = [item["placed_at"] for item in result["items"]]
    assert len(times) > 1
    assert times == sorted(times, reverse=True)
    assert [call["operation"] for call in result["calls"]] == ["Query"]
    assert result["units"] == sum(call["units"] for call in result["calls"])


@pytest.mark.slow
def test_arguments_are_read_as_their_types_want_them(prejoin: Prejoin, shop: Path) -> None:
    user = prejoin("query", "AP-001", "--format", "json").json["result"]["items"][0]["user_id"]
    span = ("placed_at_from=2020-01-01T00:00:00Z", "placed_at_to=2040-01-01T00:00:00Z")
    result = prejoin("query", "AP-005", f"user_id={user}", *span, "--format", "json").json["result"]
    assert {item["user_id"] for item in result["items"]} == {user}
    assert prejoin("query", "AP-010", "product_id=nothing", "--format", "json").json["result"]["items"] == []


def test_several_entities_come_side_by_side(prejoin: Prejoin, shop: Path) -> None:
    items = prejoin("query", "AP-007", "--format", "json").json["result"]["items"]
    assert {item["entity"] for item in items} == {"Order", "OrderItem"}


def test_write_does_what_the_pattern_describes(prejoin: Prejoin, shop: Path) -> None:
    address = '{"user_id": "a33f6f6a-1438-43f5-819d-1bd3d93e1841", "label": "work", "street": "s", "city": "c", "postcode": "p"}'
    result = prejoin("query", "AP-021", f"address={address}", "--format", "json").json["result"]
    assert [call["operation"] for call in result["calls"]] == ["PutItem"]


@pytest.mark.everyday(6)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("AP-99",), "did you mean AP-009?"),
        (("AP-004", "user=1"), "did you mean user_id?"),
        (("AP-004", "user_id"), "is not NAME=VALUE"),
        (("AP-004", "user_id=nobody"), "user_id: "),
        (("AP-004", "user_id=1", "user_id=2"), "user_id is given 2 times"),
        (("AP-006", "status=paid"), "did you mean PAID?"),
        (("AP-006", "status=nonsense"), "is not one of PENDING, PAID"),
        (("AP-005", "placed_at_from=yesterday"), "placed_at_from=2026-01-15T10:30:00Z"),
        (("AP-024", "quantities=1", "quantities=many"), "quantities: `many` is not a whole number"),
        (("AP-022", 'order={"order_id": 5}'), "a JSON object with order_id, user_id"),
        (("AP-022", "order={"), "is not JSON"),
        (("AP-001", "--limit", "2"), "AP-001 takes no limit"),
        (("AP-001", "--endpoint", "http://localhost", "--aws"), "one place"),
    ],
)
def test_invalid_query_arguments_are_reported(
    prejoin: Prejoin, shop: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = prejoin("query", *arguments)
    assert ran.status == 2
    assert message in ran.err


def test_false_condition_is_reported(prejoin: Prejoin, shop: Path) -> None:
    order = '{"order_id": "01KF5NQRT4J94TXMPVT19396G5", "user_id": "a33f6f6a-1438-43f5-819d-1bd3d93e1841", '
    order += '"placed_at": "2026-01-15T10:30:00Z", "status": "PENDING", "total": "1", "ship_to": {}}'
    ran = prejoin("query", "AP-022", f"order={order}", "order_items=[]")
    assert ran.status == 1
    assert "PJ040" in ran.err


def test_existing_table_is_changed_only_after_confirmation(prejoin: Prejoin, shop: Path) -> None:
    workload = read_file(shop / "access-patterns.md").workload
    design = solve(workload).design
    file = shop / "shop.db"
    with Client(load_package(workload, design).schema, design.table, Embedded(str(file))) as db:
        db.create_table()
    missing = prejoin("query", "AP-005", "--db", str(file))
    assert missing.status == 2
    assert "placed_at_from, a time with its zone" in missing.err
    assert (
        prejoin("query", "AP-010", "product_id=1", "--db", str(file), "--format", "json").json["result"]["items"] == []
    )
    product = 'product={"product_id": "1", "name": "pen", "price": "2", "stock": 3}'
    lacking = prejoin("query", "AP-025", "--db", str(file))
    sample = 'product=\'{"product_id": "…", "name": "…", "price": "12.50", "stock": 5}\''
    assert f" {sample}`" in lacking.err
    refused = prejoin("query", "AP-025", product, "--db", str(file))
    assert refused.status == 4
    assert prejoin("query", "AP-025", product, "--db", str(file), "--yes").status == 0
    (found,) = prejoin("query", "AP-010", "product_id=1", "--db", str(file), "--format", "json").json["result"]["items"]
    assert found["stock"] == 3


@pytest.mark.slow
def test_broken_design_is_reported_and_not_replaced(prejoin: Prejoin, shop: Path) -> None:
    assert prejoin("design", "--yes").status == 0
    assert prejoin("query", "AP-001").status == 0
    design = shop / "table-design.md"
    design.write_text(design.read_text("utf-8").replace("USER#{userId}", "USER#{usrId}"), "utf-8")
    ran = prejoin("query", "AP-001")
    assert ran.status == 1
    assert "the design has errors; nothing was run" in ran.err


@pytest.mark.everyday(3)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name)
def test_all_that_the_examples_ask_for_can_be_made_up(document: Path) -> None:
    workload = read_file(document).workload
    design = solve(workload).design
    methods = repository_methods(workload, design)
    assert len(methods) > 5
    with Embedded() as engine:
        sample = SampleTable.create(workload, design, engine, datetime.now(UTC))
        for method in methods.values():
            values = example(sample, method.pattern, method)
            assert not [param.name for param in method.params if not param.default and param.name not in values]


@pytest.mark.slow
def test_every_pattern_runs_with_sample_arguments(prejoin: Prejoin, here: Path) -> None:
    shutil.copy(SHOP.parents[1] / "organisation" / "access-patterns.md", here / "access-patterns.md")
    assert prejoin("design", "--yes", "--no-proof").status == 0
    patterns = prejoin("query", "--format", "json").json["result"]["patterns"]
    for one in patterns:
        ran = prejoin("query", one["id"], "--format", "json")
        assert ran.status == 0, (one, ran.out)
        assert ran.json["result"]["calls"], one


@pytest.mark.slow
def test_pages_follow_each_other(prejoin: Prejoin, shop: Path) -> None:
    whole = prejoin("query", "AP-004", "--limit", "100", "--format", "json").json["result"]
    assert whole["cursor"] is None
    first = prejoin("query", "AP-004", "--limit", "5", "--format", "json").json["result"]
    ran = prejoin("query", "AP-004", "--limit", "100", "--after", first["cursor"])
    assert ran.status == 0
    second = prejoin("query", "AP-004", "--limit", "100", "--after", first["cursor"], "--format", "json").json["result"]
    assert len(first["items"]) == 5
    assert first["items"] + second["items"] == whole["items"]
    assert " limit=5 --after " in prejoin("query", "AP-004", "limit=5").err


def test_a_name_may_be_the_documents(prejoin: Prejoin, shop: Path) -> None:
    result = prejoin("query", "AP-010", "productId=nothing", "--format", "json").json["result"]
    assert result["arguments"] == {"product_id": "nothing"}


def test_a_list_is_several_values_or_one_in_json(prejoin: Prejoin, shop: Path) -> None:
    made_up = prejoin("query", "AP-024", "--format", "json").json["result"]["arguments"]
    first, second = made_up["product_ids"]
    for words in ([f"product_ids={first}", f"product_ids={second}"], [f'product_ids=["{first}", "{second}"]']):
        ran = prejoin("query", "AP-024", *words, "quantities=[1, 2]", "--format", "json")
        assert ran.status == 0, ran.out
        assert ran.json["result"]["arguments"]["product_ids"] == [first, second]


def test_without_a_pattern_it_lists_them(prejoin: Prejoin, shop: Path) -> None:
    ran = prejoin("query")
    assert ran.status == 0
    assert "AP-005  A user's orders of a period        user_id placed_at_from placed_at_to [limit] [after]" in ran.out


@pytest.mark.slow
def test_query_works_on_a_server_and_a_file(prejoin: Prejoin, shop: Path) -> None:
    workload = read_file(shop / "access-patterns.md").workload
    design = solve(workload).design
    with Embedded() as engine, Server(engine, port=0) as url:
        nothing = prejoin("query", "AP-010", "product_id=1", "--endpoint", url)
        assert (nothing.status, "PJ021" in nothing.err, "there is no table `shop`" in nothing.err) == (1, True, True)
        Client(load_package(workload, design).schema, design.table, engine).create_table()
        product = 'product={"product_id": "1", "name": "日本のペン", "price": "2.50", "stock": 3}'
        assert prejoin("query", "AP-025", product, "--endpoint", url, "--yes").status == 0
        ran = prejoin("query", "AP-010", "product_id=1", "--endpoint", url)
        assert "日本のペン" in ran.out
    gone = prejoin("query", "AP-010", "product_id=1", "--endpoint", url)
    assert gone.status == 1
    assert "did not reach" in gone.err


def test_lost_answer_to_a_write_says_to_look_before_repeating(prejoin: Prejoin, shop: Path) -> None:
    workload = read_file(shop / "access-patterns.md").workload
    design = solve(workload).design
    with Embedded() as engine, FaultProxy(engine) as proxy:
        Client(load_package(workload, design).schema, design.table, engine).create_table()
        proxy.play([FAULTS["close_after_applying"], FAULTS["access_denied"]])
        product = 'product={"product_id": "1", "name": "Pen", "price": "2.50", "stock": 3}'
        ran = prejoin("query", "AP-025", product, "--endpoint", proxy.url, "--yes")
    assert len(proxy.applied) == 1
    assert ran.status == 1
    assert "no response says whether it was applied" in ran.err
    assert "read the item to find out whether the write was applied, before you repeat the command" in ran.err


def test_aws_needs_a_region(prejoin: Prejoin, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(shop / "none"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    ran = prejoin("query", "AP-010", "product_id=1", "--aws")
    assert ran.status == 1
    assert "--region NAME" in ran.err


WIDE = [{"entity": "Note", "id": "a" * 30, "text": "日本語" * 9, "kind": "x", "tags": ["b", "c"]}] * 2


@pytest.mark.everyday(1)
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_results_fit_the_terminal(width: int) -> None:
    read = read_file(SHOP).workload
    method = repository_methods(read, solve(read).design)["AP-004"]
    request, response = {"IndexName": "gsi1"}, {"ConsumedCapacity": {"CapacityUnits": 0.5}}
    call = Call("Query", request, response, ("NOTE#" + "b" * 90,))
    result = QueryResult(method, {"user_id": "c" * 90}, frozenset(), tuple(WIDE), None, (call,))
    lines = ["".join(p if isinstance(p, str) else p[0] for p in line) for line in query_page(result, width)]
    assert max(cells(line.rstrip()) for line in lines) <= width
    text = "\n".join(lines)
    assert "2 items, 1 request, 0.5 units." in text
    assert '["b","c"]' in text
    assert ("日本語" * 9 in text) is (width == 200)


def test_expiry_cannot_be_queried(prejoin: Prejoin, here: Path) -> None:
    corpus = Path(__file__).parents[1] / "corpus" / "debrie_session_store" / "access-patterns.md"
    shutil.copy(corpus, here / "access-patterns.md")
    ran = prejoin("query", "AP3")
    assert ran.status == 2
    assert "sends no request" in ran.err


@pytest.mark.parametrize(
    ("hint", "texts", "value"),
    [
        (str, ["5"], "5"),
        (str, [""], ""),
        (str, ["a=b"], "a=b"),
        (str | None, ["null"], None),
        (int, ["-5"], -5),
        (float, ["1.5"], 1.5),
        (bool, ["true"], True),
        (Decimal, ["12.50"], Decimal("12.50")),
        (date, ["2026-01-15"], date(2026, 1, 15)),
        (datetime, ["2026-01-15T10:30:00Z"], datetime(2026, 1, 15, 10, 30, tzinfo=UTC)),
        (bytes, ["aGVsbG8="], b"hello"),
        (Literal["a", "b"], ["b"], "b"),
        (list[int], ["1", "2"], [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (Sequence[str], ['["a", "b"]'], ["a", "b"]),
        (frozenset[str], ["a", "a"], frozenset({"a"})),
        (dict[str, Any], ['{"a": [1]}'], {"a": [1]}),
    ],
    ids=str,
)
def test_a_value_is_read_as_its_type_wants_it(hint: Any, texts: list[str], value: object) -> None:
    assert read_value("x", texts, hint) == value


@pytest.mark.parametrize(
    ("hint", "text"),
    [(int, "five"), (bool, "perhaps"), (date, "today"), (Decimal, "x"), (bytes, "ä"), (list[int], "x")],
)
def test_value_of_another_type_raises(hint: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="x: "):
        read_value("x", [text], hint)


# --- Arguments and designs ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sample_arguments_are_marked(prejoin: Prejoin, shop: Path) -> None:
    ran = prejoin("query", "AP-004", "--limit", "1")
    assert "made up from the data: user_id\n" in ran.out
    result = prejoin("query", "AP-004", "--limit", "1", "--format", "json").json["result"]
    assert result["made_up"] == ["user_id"]
    user, cursor = result["arguments"]["user_id"], result["cursor"]
    assert f"there are more items: `prejoin query AP-004 user_id={user} --limit 1 --after {cursor}`" in ran.err
    given = prejoin("query", "AP-004", f"user_id={user}")
    assert "made up" not in given.out
    assert f"user_id={user}" in given.out


def test_command_of_the_next_page_runs(prejoin: Prejoin, shop: Path) -> None:
    import re
    import shlex

    first = prejoin("query", "AP-004", "--limit", "2")
    found = re.search(r"`prejoin (query .*)`", first.err)
    assert found
    second = prejoin(*shlex.split(found[1]))
    assert second.status == 0, second.err
    assert second.out != first.out


def test_optional_arguments_get_no_sample_values(prejoin: Prejoin, here: Path) -> None:
    text = SHOP.read_text("utf-8").replace("userId, placedAt between |", "userId, status? |")
    assert "status?" in text
    (here / "access-patterns.md").write_text(text, "utf-8")
    listed = prejoin("query", "--format", "json").json["result"]["patterns"]
    optional = [one["name"] for p in listed if p["id"] == "AP-005" for one in p["takes"] if one["optional"]]
    assert "status" in optional
    result = prejoin("query", "AP-005", "--format", "json").json["result"]
    assert list(result["arguments"]) == ["user_id"]


def test_missing_arguments_are_asked_for_with_those_given(prejoin: Prejoin, shop: Path) -> None:
    Embedded(shop / "shop.db").close()
    ran = prejoin("query", "AP-005", "user_id=a33f6f6a-1438-43f5-819d-1bd3d93e1841", "--db", "shop.db")
    assert ran.status == 2
    assert "`prejoin query AP-005 user_id=a33f6f6a-1438-43f5-819d-1bd3d93e1841 --db shop.db placed_at_from=" in ran.err


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("## Decisions\n", "## Decisions\n\n- no GSIs for Order\n", "it does not follow `no GSIs for Order`"),
        ("## Decisions\n", "## Decisions\n\n- at most 1 GSIs\n", "it does not follow `at most 1 GSI"),
        (
            "## Decisions\n",
            "## Decisions\n\n- Product has key `THING#{productId}` and `THING`\n",
            "it does not follow `Product has key `THING#{productId}` and `THING``",
        ),
        ("| AP-010 ", "| AP-110 ", "it lacks AP-110"),
    ],
)
def test_design_older_than_its_document_is_reported(
    prejoin: Prejoin, here: Path, before: str, after: str, reason: str
) -> None:
    text = SHOP.read_text("utf-8")
    if "## Decisions" not in text:
        text += "\n## Decisions\n"
    assert before in text
    (here / "access-patterns.md").write_text(text, "utf-8")
    shutil.copy(SHOP.with_name("table-design.md"), here / "table-design.md")
    assert "PJ037" not in prejoin("query", "AP-001").err
    (here / "access-patterns.md").write_text(text.replace(before, after, 1), "utf-8")
    ran = prejoin("query", "AP-001")
    assert ran.status == 0
    assert f"warning PJ037: table-design.md is older than access-patterns.md: {reason}" in ran.err
    assert "`prejoin design access-patterns.md`" in ran.err


TENANTS = Path(__file__).parents[1] / "render" / "python" / "documents" / "tenants.md"


def test_tenant_is_an_argument(prejoin: Prejoin, here: Path) -> None:
    shutil.copy(TENANTS, here / "access-patterns.md")
    listed = prejoin("query").out
    assert re.search(r"AP-004 .* workspace_id email", listed)
    assert re.search(r"AP-002 .* plan_id", listed)
    ran = prejoin("query", "AP-031", "workspace_id=acme", "member_id=01WCKRP8SJ3A0M0WNZQGRYHBNR")
    assert "TENANT#acme#MEMBER#01WCKRP8SJ3A0M0WNZQGRYHBNR" in ran.out


@pytest.mark.slow
def test_design_older_than_the_tenant_line_is_refused(prejoin: Prejoin, here: Path) -> None:
    text = TENANTS.read_text("utf-8")
    plain = text.replace("- **Tenant**: workspaceId, except Plan", "").replace("per workspaceId", "total")
    assert "workspaceId" not in plain
    (here / "access-patterns.md").write_text(plain, "utf-8")
    assert prejoin("design", "--yes").status == 0
    shutil.copy(TENANTS, here / "access-patterns.md")
    ran = prejoin("query", "AP-031")
    assert ran.status == 1
    assert "PJ500: no table can be made from the design: Member in table" in ran.err
    assert "`prejoin design` shows one that works" in ran.err
