"""The bill of a design: every pattern and all that is stored, at the document's rates; and what one write becomes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from tests.shop import shop_design, shop_workload
from tests.solutions import solve

from prejoin.design.cost.assumptions import assumptions, count_of
from prejoin.design.cost.bill import OBJECT_STORE, Bill, amplification, bill
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Facet, Item, Units
from prejoin.workload.files import read_file
from prejoin.workload.model import Rate, Verb

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])
MONTH = 2_592_000


def test_a_read_is_billed_by_its_rate_and_units() -> None:
    found = bill(shop_workload(), shop_design()).pattern("AP-010")
    assert found is not None
    assert (found.rate, found.calls, found.units) == (400, 400 * MONTH, Units(read=0.5))
    assert found.dollars == Decimal("0.125") * 400 * MONTH / 2 / 1_000_000


def test_storage_is_billed_for_the_table_and_for_each_index_with_what_dynamodb_adds() -> None:
    workload = shop_workload()
    found = bill(workload, shop_design())
    orders = {one.slot: one for one in found.storage if one.item == "Order"}
    assert set(orders) == {f.slot for f in shop_design().items[2].facets}
    assert orders[TABLE].stored == 40_000_000 * (400 + 100)
    assert orders[TABLE].dollars == Decimal("5")
    guard = next(one for one in found.storage if one.item == "User!email")
    assert guard.entries == 2_000_000


def test_the_whole_is_the_sum_of_its_parts_and_twice_the_calls_cost_twice() -> None:
    workload, design = shop_workload(), shop_design()
    found = bill(workload, design)
    assert found.total == sum(p.dollars for p in found.patterns) + sum(s.dollars for s in found.storage)
    assert found.kept == sum(found.slot(slot.name) for slot in design.slots)
    writes = tuple(replace(w, rate=Rate(value=200)) for w in workload.writes)
    half = tuple(replace(w, rate=Rate(value=100)) for w in workload.writes)
    dear, cheap = (bill(replace(workload, writes=some, reads=(), deletes=()), design) for some in (writes, half))
    assert dear.requests == 2 * cheap.requests > 0
    assert dear.kept == cheap.kept


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_every_workload_has_a_bill_that_is_the_same_each_time_and_is_data(path: Path) -> None:
    workload = read_file(path).workload
    design = solve(workload).design
    found = bill(workload, design)
    assert [p.pattern for p in found.patterns] == [o.pattern for o in design.operations]
    assert {s.slot for s in found.storage} <= {*(s.name for s in design.slots), OBJECT_STORE}
    assert found.total > 0
    assert all(p.dollars >= 0 for p in found.patterns)
    assert bill(workload, design) == found
    assert msgspec.json.decode(msgspec.json.encode(found), type=Bill) == found


def test_one_write_becomes_items_and_entries() -> None:
    workload, design = shop_workload(), shop_design()
    found = {(one.entity, one.verb): one for one in amplification(workload, design)}
    user = found["User", Verb.CREATE]
    assert (user.items, user.transaction, user.alone) == (2, True, 1), "itself and the guard of its e-mail"
    assert user.units == 2 * 2 + user.entries
    order = found["Order", Verb.CREATE]
    assert (order.items, order.entries) == (1, len(design.items[2].facets) - 1)
    assert order.units == order.factor == 1 + order.entries
    copy = Item("Product", "Product.all", (Facet(TABLE, ("ALL",), ("{productId}",)),), "all")
    more = map_patterns(replace(design, items=(*design.items, copy)), workload)
    product = next(a for a in amplification(workload, more) if (a.entity, a.verb) == ("Product", Verb.CREATE))
    assert (product.items, product.units, product.alone) == (2, 8, 2), "two items of 2 KB, in a transaction"


def test_assumptions_are_reported() -> None:
    told = {(a.about, a.what): a.value for a in assumptions(shop_workload())}
    assert told["AP-009", "the rate Cold"] == "0.1 a second"
    assert not any(about in {"User", "Order"} for about, _ in told), "their sizes and numbers are in the document"
    bank = read_file(ROOT / "tests/corpus/aws_bank_payments/access-patterns.md").workload
    told = {(a.about, a.what): a.value for a in assumptions(bank)}
    assert told["Payment", "the number of items"] == "10,000"
    assert ("Payment", "the size of an item") not in told
    assert all(str(a).endswith(a.why) and a.value for a in assumptions(bank))


def test_a_limit_is_not_taken_for_the_usual_number() -> None:
    workload = shop_workload()
    address = workload.entity("Address")
    assert address is not None
    assert count_of(workload, address) == 2 * 2_000_000, "about two per user, at most ten"
