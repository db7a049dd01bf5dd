"""Every method of every generated repository: reads and writes equal brute force."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from random import Random
from typing import assert_never

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples
from tests.render.python.driving import DOCUMENTS, NAMES, designed, driven, proven, unproven
from tests.render.python.workloads import random_workload
from tests.solutions import solve

from prejoin import ConditionFailed, CursorError, NotFound, NotServed, OtherTenant, TransactionCancelled
from prejoin.cases.case_variation import Variation
from prejoin.cases.write_cases import build_case
from prejoin.render.python import Options
from prejoin.render.python.entities import Style
from prejoin.render.python.method import InputValue, KnownValue, Option, RecordValue
from prejoin.render.python.package import repository_methods
from prejoin.workload.lookup import unaddressed
from prejoin.workload.model import Action, Op, Verb, Write
from prejoin.workload.tenants import tenant_of

OURS = [name for name, path in DOCUMENTS.items() if path.parent.name == "documents"]
"""The documents of this folder."""


@pytest.mark.parametrize(
    ("style", "name"),
    [
        ("msgspec", "blog"),
        pytest.param("msgspec", "growing", marks=pytest.mark.slow),
        ("msgspec", "ranges"),
        pytest.param("pydantic", "growing", marks=pytest.mark.slow),
        ("pydantic", "names"),
        pytest.param("pydantic", "together", marks=pytest.mark.slow),
    ],
)
def test_methods_are_proven_with_other_classes(style: Style, name: str) -> None:
    pytest.importorskip(style)
    assert unproven(proven(*designed(name), Options(style=style))) == []


@pytest.mark.parametrize("name", OURS)
def test_every_pattern_has_a_method_that_is_proven(name: str) -> None:
    workload, design = designed(name)
    assert set(repository_methods(workload, design)) == {pattern.id for pattern in workload.patterns}
    assert unproven(proven(workload, design)) == []


def test_the_first_upsert_creates_an_item_and_the_next_changes_it() -> None:
    with driven(*designed("upsert")) as driver:
        poll = driver.record("Poll")
        driver.repository.new(poll)
        at = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
        for votes in (1, 2):
            driver.repository.vote(poll.poll_id, "YES", at)
            tally = driver.get("Tally", poll_id=poll.poll_id, answer="YES")
            assert (tally.votes, tally.label, tally.last_at) == (votes, "none", at)


def test_constants_of_a_write_are_those_of_the_document() -> None:
    with driven(*designed("constants")) as driver:
        repository, shop = driver.repository, driver.record("Shop", visits=5, open=True, state="NEW")
        repository.create(shop)
        repository.touch(shop.shop_id)
        assert repository.get(shop.shop_id).visits == 5  # += 0
        repository.visit(shop.shop_id, "NEW")  # one value, not a list of letters
        assert repository.get(shop.shop_id).visits == 7
        with pytest.raises(ConditionFailed):
            repository.visit(shop.shop_id, "LIVE")


def test_the_proof_of_an_upsert_creates_an_item_and_changes_one() -> None:
    with driven(*designed("upsert")) as driver:
        write = next(w for w in driver.sample.workload.writes if w.id == "AP-021")
        operation = driver.sample.design.operation(write.id)
        assert operation is not None
        before = [
            build_case(driver.sample, write, operation, Variation(is_other=is_other)).steps[0].before
            for is_other in (False, True)
        ]
        assert before[0] is not None
        assert before[1] is None


def test_commenter_may_differ_from_the_author() -> None:
    with driven(*designed("blog")) as driver:
        items = driver.sample.items
        post = next(p for p in items["Post"] if p["status"] == "PUBLISHED")
        other = next(u for u in items["User"] if u["userId"] != post["userId"])
        driver.repository.comment_on_post(driver.record("Comment", postId=post["postId"], userId=other["userId"]))
        assert driver.get("Post", post_id=post["postId"]).comment_count == post["commentCount"] + 1


@given(st.randoms(use_true_random=False), st.sampled_from(["dataclass", "msgspec"]))
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow])
def test_random_workloads_are_proven(chance: Random, style: Style) -> None:
    workload = random_workload(chance)
    design = solve(workload).design
    proof = proven(workload, design, Options(style=style))
    served = {operation.pattern for operation in design.operations if operation.served}
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed if a.pattern in served] == []
    assert proof.findings == ()


@pytest.mark.parametrize("name", NAMES)
def test_method_parameters_are_the_inputs_of_the_document(name: str) -> None:
    """Only its inputs, objects that contain them, options, and ids that the document does not list."""
    workload, design = designed(name)
    for method in repository_methods(workload, design).values():
        pattern = method.pattern
        wanted = {i.attribute for i in pattern.inputs if not i.values and i.op not in (Op.EXISTS, Op.NOT_EXISTS)}
        wanted -= {tenant_of(workload, pattern)}  # the repository of a tenant fills it in
        taken: set[str] = set()
        for param in method.params:
            match param.meaning:
                case InputValue(name):
                    assert name in wanted, f"{pattern.id} takes {param.name}"
                    taken.add(name)
                case RecordValue(entity):
                    held = workload.entity(entity)
                    assert held is not None
                    taken |= {entity, *(a.name for a in held.attributes)}
                case KnownValue(entity, attribute):
                    owner = workload.entity(entity)
                    assert owner is not None
                    assert isinstance(pattern, Write)
                    assert attribute in {a.name for a in owner.id}, f"{pattern.id} takes {param.name}"
                    assert unaddressed(workload, pattern, Action(Verb.UPDATE, entity), owner)
                    operation = design.operation(pattern.id)
                    assert operation is not None
                    assert f"the caller knows {attribute} of the {entity}" in operation.assumes
                case Option():
                    pass
                case _:
                    assert_never(param.meaning)
        assert wanted <= taken, f"{pattern.id} does not take {wanted - taken}"


def test_write_reads_missing_key_values() -> None:
    """An order is found by its id in one request, although the table has it under its user."""
    with driven(*designed("finding")) as driver:
        order = driver.sample.items["Order"][0]
        driver.repository.update_status(order["orderId"], "DELIVERED")
        found = driver.repository.order_with_notes(order["orderId"]).one(driver.sample.package.classes["Order"])
        assert (found.status, found.user_id) == ("DELIVERED", order["userId"])
        with pytest.raises(NotFound, match="there is no such Order"):
            driver.repository.update_status("nobody's", "DELIVERED")
        assert "0.5 read units" in (driver.repository.update_status.__doc__ or "")


def test_write_of_another_tenants_item_is_refused_also_after_a_read() -> None:
    with driven(*designed("finding")) as driver:
        order = driver.sample.items["Order"][0]
        other = next(u for u in driver.sample.items["User"] if u["userId"] != order["userId"])
        with pytest.raises((LookupError, ConditionFailed)):
            driver.repository.correct_total(order["orderId"], other["userId"], Decimal(1))


def test_condition_that_an_item_is_absent_is_checked() -> None:
    with driven(*designed("finding")) as driver:
        ban = driver.sample.items["Ban"][0]
        order = driver.record("Order", userId=ban["userId"])
        with pytest.raises(TransactionCancelled, match=r"Ban .* exists already"):
            driver.repository.place_order(order)
        driver.repository.lift_ban(ban["userId"])
        driver.repository.place_order(order)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_objects_that_do_not_belong_together_are_refused_before_anything_is_sent(asynchronous: bool) -> None:
    with driven(*designed("belonging")) as driver:
        sample, made = driver.sample, driver.record

        def call(pattern: str, *objects: object) -> object:
            method = sample.package.methods[pattern]
            names = [param.name for param in method.params if not param.default]
            return sample.run(method, dict(zip(names, objects, strict=True)), asynchronous=asynchronous)

        one, other = (item["tenantId"] for item in sample.items["Tenant"][:2])
        ticket = made("Ticket", tenantId=one)
        event = made("AuditEvent", tenantId=other, ticketId=ticket.ticket_id)
        lines = [made("OrderLine", orderId="here", lineNumber=1), made("OrderLine", orderId="there", lineNumber=2)]
        for pattern, objects, said in (
            ("AP-020", (ticket, event), "audit_event.tenant_id is not ticket.tenant_id"),
            ("AP-022", (made("Order", orderId="here"), lines), "order_line.order_id is not order.order_id"),
            ("AP-023", (lines, "here"), "order_line.order_id is not order_id"),
            ("AP-024", (lines,), "order_line.order_id is not order_lines[0].order_id"),
            ("AP-025", (made("Receipt", txnId="1"), made("Txn", txnId="2")), "receipt.txn_id is not txn.txn_id"),
        ):
            with pytest.raises(ValueError, match=re.escape(said)):
                call(pattern, *objects)
        assert sample.calls == []
        call("AP-020", ticket, made("AuditEvent", tenantId=one, ticketId=ticket.ticket_id))
        call("AP-026", made("User"), made("Invitation"))  # another user invites


def test_a_repository_is_of_one_tenant() -> None:
    """It takes no tenant, finds no other's items, and takes no other's cursors."""
    with driven(*designed("tenants")) as driver:
        projects = [dict(one) for one in driver.sample.items["Project"]]
        first = projects[0]["workspaceId"]
        second = next(one["workspaceId"] for one in projects if one["workspaceId"] != first)
        record = driver.sample.package.record
        for number in range(3):
            project = {**projects[0], "projectId": f"01ARZ3NDEKTSV4RRFFQ69G5FA{number}"}
            driver.sample.client.insert(record("Project", project))
        page = driver.repository.of_tenant(first).projects(limit=1)
        assert {one.workspace_id for one in page} == {first}
        with pytest.raises(CursorError):
            driver.repository.of_tenant(second).projects(limit=1, after=page.cursor)
        with pytest.raises(OtherTenant):
            driver.repository.of_tenant(second).begin_project(record("Project", projects[0]))
        with pytest.raises(NotServed):
            driver.repository.projects(limit=1)
        plans = driver.repository.of_tenant(first).all_plans()
        assert plans == driver.repository.all_plans()
