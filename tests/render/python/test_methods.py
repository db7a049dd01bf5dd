"""Every method of every generated repository: reads give what brute force gives, writes do what the pattern says."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples
from tests.proof.league import NOW
from tests.render.python.driving import NAMES, Driver, designed
from tests.render.python.workloads import random_workload

from prejoin.design.solver.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.run import prove
from prejoin.proof.state import State
from prejoin.render.python import Options
from prejoin.render.python.entities import Style
from prejoin.render.python.method import Asked, Known, Option, Whole
from prejoin.render.python.package import repository_methods
from prejoin.table import ConditionFailed, CursorError, NotServed, OtherTenant, TransactionCancelled
from prejoin.workload.lookup import addressed
from prejoin.workload.model import Action, Op, Verb, Write
from prejoin.workload.tenants import tenant_of


@pytest.mark.parametrize("name", NAMES)
def test_every_method_of_a_document_is_right(name: str, tmp_path: Path) -> None:
    with Driver(*designed(name), tmp_path) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize("name", ["shop", "growing", "ranges", "together"])
def test_every_method_that_is_awaited_is_right(name: str, tmp_path: Path) -> None:
    with Driver(*designed(name), tmp_path, aio=True) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize(
    ("style", "name"),
    [
        ("msgspec", "blog"),
        ("msgspec", "growing"),
        ("msgspec", "ranges"),
        ("pydantic", "growing"),
        ("pydantic", "names"),
        ("pydantic", "together"),
    ],
)
def test_every_method_is_right_with_other_classes(style: Style, name: str, tmp_path: Path) -> None:
    pytest.importorskip(style)
    with Driver(*designed(name), tmp_path, Options(style=style)) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize("name", ["growing", "names", "odd", "ranges", "spread", "together"])
def test_every_pattern_of_a_document_of_ours_has_a_method(name: str) -> None:
    workload, design = designed(name)
    assert set(repository_methods(workload, design)) == {pattern.id for pattern in workload.patterns}


@pytest.mark.parametrize("name", ["growing", "names", "odd", "ranges", "spread", "together"])
def test_the_design_of_a_document_of_ours_is_proven(name: str) -> None:
    with Embedded() as engine:
        proof = prove(*designed(name), engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
    assert proof.findings == ()


def test_who_comments_on_a_post_need_not_be_its_author(tmp_path: Path) -> None:
    with Driver(*designed("blog"), tmp_path) as driver:
        items = driver.bench.items
        post = next(p for p in items["Post"] if p["status"] == "PUBLISHED")
        other = next(u for u in items["User"] if u["userId"] != post["userId"])
        new = driver.bench.maker.another(
            driver.bench.entity("Comment"), {"postId": post["postId"], "userId": other["userId"]}
        )
        assert new is not None
        driver.repository.comment_on_post(driver.record("Comment", new))
        assert driver.repository.db.get(driver.entities.Post, post_id=post["postId"]).comment_count == (
            post["commentCount"] + 1
        )


@given(st.randoms(use_true_random=False), st.sampled_from(["dataclass", "msgspec"]), st.booleans(), st.booleans())
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow])
def test_every_method_of_a_random_workload_is_right(chance: Random, style: Style, aio: bool, harsh: bool) -> None:
    workload = random_workload(chance)
    design, options = solve(workload).design, Options(style=style)
    with TemporaryDirectory() as folder, Driver(workload, design, Path(folder), options, aio, harsh=harsh) as driver:
        assert driver.wrong() == []


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
def test_the_design_of_a_random_workload_is_proven(chance: Random) -> None:
    workload = random_workload(chance)
    design = solve(workload).design
    with Embedded() as engine:
        proof = prove(workload, design, engine, now=NOW)
    served = {operation.pattern for operation in design.operations if operation.served}
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed if a.pattern in served] == []
    assert proof.findings == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_method_takes_what_the_document_gives(name: str) -> None:
    """Nothing else than its inputs, objects that hold them, options; and ids that the document does not give."""
    workload, design = designed(name)
    for method in repository_methods(workload, design).values():
        pattern = method.pattern
        wanted = {i.attribute for i in pattern.inputs if not i.values and i.op not in (Op.EXISTS, Op.NOT_EXISTS)}
        wanted -= {tenant_of(workload, pattern)}  # the repository of a tenant fills it in
        taken: set[str] = set()
        for param in method.params:
            match param.meaning:
                case Asked(name):
                    assert name in wanted, f"{pattern.id} takes {param.name}"
                    taken.add(name)
                case Whole(entity):
                    held = workload.entity(entity)
                    assert held is not None
                    taken |= {entity, *(a.name for a in held.attributes)}
                case Known(entity, attribute):
                    owner = workload.entity(entity)
                    assert owner is not None
                    assert isinstance(pattern, Write)
                    assert attribute in {a.name for a in owner.id}, f"{pattern.id} takes {param.name}"
                    assert not addressed(workload, pattern, Action(Verb.UPDATE, entity), owner)
                    operation = design.operation(pattern.id)
                    assert operation is not None
                    assert f"the caller knows {attribute} of the {entity}" in operation.assumes
                case Option(option):
                    assert option in {"limit", "after", "now", "token", "reverse"}
        assert wanted <= taken, f"{pattern.id} does not take {wanted - taken}"


def test_a_write_finds_what_it_is_not_given(tmp_path: Path) -> None:
    """An order is found by its id, though the table has it under its user; in one request."""
    with Driver(*designed("finding"), tmp_path) as driver:
        order = driver.bench.items["Order"][0]
        driver.repository.update_status(order["orderId"], "DELIVERED")
        found = driver.repository.order_with_notes(order["orderId"]).one(driver.entities.Order)
        assert (found.status, found.user_id) == ("DELIVERED", order["userId"])
        with pytest.raises(LookupError, match="there is no such Order"):
            driver.repository.update_status("nobody's", "DELIVERED")
        assert "0.5 read units" in (driver.repository.update_status.__doc__ or "")


def test_a_write_of_somebody_elses_item_is_refused_also_where_it_is_found_first(tmp_path: Path) -> None:
    with Driver(*designed("finding"), tmp_path) as driver:
        order = driver.bench.items["Order"][0]
        other = next(u for u in driver.bench.items["User"] if u["userId"] != order["userId"])
        with pytest.raises((LookupError, ConditionFailed)):
            driver.repository.correct_total(order["orderId"], other["userId"], Decimal(1))


def test_an_item_that_must_not_be_there_is_checked_for(tmp_path: Path) -> None:
    with Driver(*designed("finding"), tmp_path) as driver:
        make = driver.bench.maker.another
        ban = driver.bench.items["Ban"][0]
        order = make(driver.bench.entity("Order"), {"userId": ban["userId"]})
        assert order is not None
        with pytest.raises(TransactionCancelled, match=r"Ban .* exists already"):
            driver.repository.place_order(driver.record("Order", order))
        driver.repository.lift_ban(ban["userId"])
        driver.repository.place_order(driver.record("Order", order))


@pytest.mark.parametrize("aio", [False, True])
def test_objects_that_do_not_belong_together_are_refused_before_anything_is_sent(tmp_path: Path, aio: bool) -> None:
    with Driver(*designed("belonging"), tmp_path, aio=aio) as driver:
        bench, methods = driver.bench, driver.methods

        def made(entity: str, **values: object) -> Any:
            found = bench.maker.another(bench.entity(entity), values)
            assert found is not None
            return driver.record(entity, found)

        def call(pattern: str, *objects: object) -> object:
            names = [p.name for p in methods[pattern].params if not p.default]
            return driver.call(methods[pattern], dict(zip(names, objects, strict=True)))

        one, other = (item["tenantId"] for item in bench.items["Tenant"][:2])
        ticket = made("Ticket", tenantId=one)
        event = made("AuditEvent", tenantId=other, ticketId=ticket.ticket_id)
        lines = [made("OrderLine", orderId="here", lineNumber=1), made("OrderLine", orderId="there", lineNumber=2)]
        before = State(bench).read()
        for pattern, objects, said in (
            ("AP-020", (ticket, event), "audit_event.tenant_id is not ticket.tenant_id"),
            ("AP-022", (made("Order", orderId="here"), lines), "order_line.order_id is not order.order_id"),
            ("AP-023", (lines, "here"), "order_line.order_id is not order_id"),
            ("AP-024", (lines,), "order_line.order_id is not order_lines[0].order_id"),
            ("AP-025", (made("Receipt", txnId="1"), made("Txn", txnId="2")), "receipt.txn_id is not txn.txn_id"),
        ):
            with pytest.raises(ValueError, match=re.escape(said)):
                call(pattern, *objects)
        assert State(bench).read() == before
        call("AP-020", ticket, made("AuditEvent", tenantId=one, ticketId=ticket.ticket_id))
        call("AP-026", made("User"), made("Invitation"))  # who invites is somebody else


def test_a_repository_is_of_one_tenant(tmp_path: Path) -> None:
    """It takes no tenant, finds no other's items, and takes no other's cursors."""
    workload, design = designed("tenants")
    with Driver(workload, design, tmp_path) as driver:
        tasks = [dict(one) for one in driver.bench.items["Project"]]
        first, second = (
            tasks[0]["workspaceId"],
            next(one["workspaceId"] for one in tasks if one["workspaceId"] != tasks[0]["workspaceId"]),
        )
        for number in range(3):
            project = {**tasks[0], "projectId": f"01ARZ3NDEKTSV4RRFFQ69G5FA{number}"}
            driver.repository.db.insert(driver.record("Project", project))
        page = driver.repository.of_tenant(first).projects(limit=1)
        assert {one.workspace_id for one in page} == {first}
        with pytest.raises(CursorError):
            driver.repository.of_tenant(second).projects(limit=1, after=page.cursor)
        with pytest.raises(OtherTenant):
            driver.repository.of_tenant(second).begin_project(driver.record("Project", tasks[0]))
        with pytest.raises(NotServed):
            driver.repository.projects(limit=1)
        plans = driver.repository.of_tenant(first).all_plans()
        assert plans == driver.repository.all_plans()
