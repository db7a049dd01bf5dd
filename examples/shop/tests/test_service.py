"""The service over real HTTP, with its table in each supported location."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import uvicorn
from prejoin import ConnectionFailed, Embedded, Schema, Server

from service import app
from shop.schema import SCHEMA

HERE = Path(__file__).resolve().parent.parent
Json = dict[str, Any]


@contextmanager
def serving() -> Iterator[httpx.Client]:
    """Runs the service in this process, configured by the environment."""
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # asyncio sets TCP_NODELAY only with this protocol
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """The service with a table in memory."""
    monkeypatch.setenv("SHOP_DB", "memory")
    monkeypatch.setenv("SHOP_CURSOR_KEY", "8f" * 32)
    with serving() as client:
        yield client


@pytest.fixture(scope="module")
def shared() -> Iterator[httpx.Client]:
    """One service for all tests that change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_DB", "memory")
        with serving() as client:
            product(client)
            yield client


def ok(answer: httpx.Response, status: int = 200) -> Any:
    """The body of a response, which must have the status."""
    assert answer.status_code == status, answer.text
    return answer.json()


def refused(answer: httpx.Response, status: int) -> str:
    """The error code of a response, which must have the status."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["detail"]
    code: str = body["code"]
    return code


def user(http: httpx.Client, email: str = "ann@example.com") -> str:
    """Registers a user and returns the id."""
    user_id: str = ok(http.post("/users", json={"email": email, "name": "Ann"}), 201)["user_id"]
    return user_id


def product(http: httpx.Client, product_id: str = "MUG-BLUE", price: str = "9.90", stock: int = 10) -> None:
    ok(http.put(f"/products/{product_id}", json={"name": product_id.title(), "price": price, "stock": stock}))


def stock(http: httpx.Client, product_id: str = "MUG-BLUE") -> int:
    left: int = ok(http.get(f"/products/{product_id}"))["stock"]
    return left


def basket(street: str = "Bergstrasse 1", /, **lines: int) -> Json:
    """An order by the quantity of each product: `basket(MUG_BLUE=2)`."""
    items = [{"product_id": name.replace("_", "-"), "quantity": quantity} for name, quantity in lines.items()]
    return {"ship_to": {"street": street, "city": "Zürich", "postcode": "8001"}, "lines": items}


def buy(http: httpx.Client, user_id: str, **lines: int) -> Json:
    order: Json = ok(http.post(f"/users/{user_id}/orders", json=basket(**lines)), 201)["order"]
    return order


def listed(http: httpx.Client, path: str, **query: str | int) -> list[Json]:
    """All items of a list, from all pages."""
    found: list[Json] = []
    while True:
        page = ok(http.get(path, params=query))
        found += page["items"]
        if page["after"] is None:
            return found
        query["after"] = page["after"]


def everywhere(http: httpx.Client, order: Json) -> list[str]:
    """The statuses of an order in all responses that contain it: from the item and from every index."""
    user_id, order_id = order["user_id"], order["order_id"]
    lists = [
        ok(http.get(f"/users/{user_id}/account"))["orders"],
        listed(http, f"/users/{user_id}/orders"),
        listed(http, "/admin/orders/last-7-days"),
    ]
    for status in ("PENDING", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"):
        lists.append(listed(http, f"/users/{user_id}/orders", status=status))
        lists.append(listed(http, "/admin/orders", status=status))
    seen: list[str] = [one["status"] for found in lists for one in found if one["order_id"] == order_id]
    return [ok(http.get(f"/orders/{order_id}"))["order"]["status"], *seen]


# A complete scenario, in every location


@pytest.fixture(params=["memory", "file", "endpoint", "AWS"])
def anywhere(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    prejoin_url: str,
    prejoin_table: Callable[[str, Schema], str],
) -> Iterator[httpx.Client]:
    """The service in each location. A local server stands in for AWS."""
    monkeypatch.delenv("SHOP_DB", raising=False)
    match request.param:
        case "memory":
            monkeypatch.setenv("SHOP_DB", "memory")
        case "file":
            monkeypatch.setenv("SHOP_DB", str(tmp_path / "shop.db"))
        case "endpoint":
            monkeypatch.setenv("SHOP_ENDPOINT", prejoin_url)
        case _:
            monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", prejoin_url)
            monkeypatch.setenv("AWS_REGION", "eu-central-1")
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
            monkeypatch.setenv(
                "SHOP_TABLE", prejoin_table("shop-of-ours", SCHEMA)
            )  # the service does not create it on AWS
    with serving() as client:
        yield client


def test_a_customer_registers_buys_and_follows_the_order(anywhere: httpx.Client) -> None:
    http = anywhere
    product(http, "MUG-BLUE", "9.90", stock=10)
    product(http, "TEA-GREEN", "4.25", stock=3)

    registered = http.post("/users", json={"email": "Ann@Example.com", "name": "Ann"})
    ann = ok(registered, 201)
    assert (ann["email"], ann["order_count"]) == ("ann@example.com", 0)
    assert ok(http.get(registered.headers["location"])) == ann
    assert ok(http.get("/users", params={"email": "ANN@example.com"})) == ann
    me = f"/users/{ann['user_id']}"
    home = ok(http.put(f"{me}/addresses/home", json={"street": "Bergstrasse 1", "city": "Zürich", "postcode": "8001"}))
    assert home["label"] == "home"

    placed = http.post(f"{me}/orders", json=basket(MUG_BLUE=2, TEA_GREEN=3))
    order = ok(placed, 201)["order"]
    assert (order["status"], float(order["total"])) == ("PENDING", 32.55)
    assert ok(http.get(placed.headers["location"])) == ok(placed, 201)
    assert [item["quantity"] for item in ok(placed, 201)["items"]] == [2, 3]
    assert [stock(http, "MUG-BLUE"), stock(http, "TEA-GREEN")] == [8, 0]

    account = ok(http.get(f"{me}/account"))
    assert account == {"user": {**ann, "order_count": 1}, "addresses": [home], "orders": [order], "after": None}
    for status in ("PAID", "SHIPPED", "DELIVERED"):
        assert ok(http.patch(f"/orders/{order['order_id']}", json={"status": status}))["status"] == status
        assert everywhere(http, order) == [status] * 6

    assert http.delete(f"{me}/addresses/home").status_code == 204
    assert ok(http.get(f"{me}/account"))["addresses"] == []


# Orders


def test_order_keeps_title_price_and_address(http: httpx.Client) -> None:
    product(http, "MUG-BLUE", "9.90")
    order_id = buy(http, user(http), MUG_BLUE=1)["order_id"]
    product(http, "MUG-BLUE", "12.00")
    found = ok(http.get(f"/orders/{order_id}"))
    assert [float(item["unit_price"]) for item in found["items"]] == [9.90]
    assert found["order"]["ship_to"] == {"street": "Bergstrasse 1", "city": "Zürich", "postcode": "8001"}


def test_orders_come_newest_first_page_by_page(http: httpx.Client) -> None:
    product(http, stock=100)
    ann = user(http)
    orders = [buy(http, ann, MUG_BLUE=1) for _ in range(7)]
    path = f"/users/{ann}/orders"
    assert listed(http, path, limit=3) == orders[::-1]
    assert [len(ok(http.get(path, params={"limit": size}))["items"]) for size in (1, 7, 8)] == [1, 7, 7]


def test_period_includes_both_ends(http: httpx.Client) -> None:
    product(http)
    ann = user(http)
    orders = [buy(http, ann, MUG_BLUE=1) for _ in range(4)]
    path, times = f"/users/{ann}/orders", [order["placed_at"] for order in orders]
    assert listed(http, path, since=times[1], until=times[2], limit=1) == [orders[2], orders[1]]
    assert listed(http, path, since=times[2]) == [orders[3], orders[2]]
    assert listed(http, path, until=times[0]) == [orders[0]]
    assert listed(http, path, since=times[2], until=times[1]) == []


def test_staff_lists_pending_orders_of_all_customers(http: httpx.Client) -> None:
    product(http)
    first, second, third = (buy(http, user(http, f"{name}@example.com"), MUG_BLUE=1) for name in ("a", "b", "c"))
    ok(http.patch(f"/orders/{second['order_id']}", json={"status": "PAID"}))
    assert listed(http, "/admin/orders", status="PENDING", limit=1) == [third, first]
    assert listed(http, "/admin/orders", status="PAID") == [{**second, "status": "PAID"}]
    assert [order["order_id"] for order in listed(http, "/admin/orders/last-7-days", limit=2)] == [
        order["order_id"] for order in (third, second, first)
    ]


def test_cancellation_returns_the_stock_once(http: httpx.Client) -> None:
    product(http, "MUG-BLUE", stock=5)
    product(http, "TEA-GREEN", stock=5)
    order = buy(http, user(http), MUG_BLUE=2, TEA_GREEN=3)
    for _ in range(2):
        assert ok(http.post(f"/orders/{order['order_id']}/cancellation"))["status"] == "CANCELLED"
        assert [stock(http, "MUG-BLUE"), stock(http, "TEA-GREEN")] == [5, 5]
    assert everywhere(http, order) == ["CANCELLED"] * 6


def test_invalid_status_changes_are_refused(http: httpx.Client) -> None:
    product(http, stock=5)
    order_id = buy(http, user(http), MUG_BLUE=2)["order_id"]

    def become(status: str) -> httpx.Response:
        return http.patch(f"/orders/{order_id}", json={"status": status})

    assert refused(become("SHIPPED"), 409) == "wrong_status"
    assert refused(become("PENDING"), 409) == "wrong_status"
    ok(become("PAID"))
    ok(become("SHIPPED"))
    assert refused(become("PAID"), 409) == "wrong_status"
    assert refused(http.post(f"/orders/{order_id}/cancellation"), 409) == "wrong_status"
    assert stock(http) == 3


def test_repeated_request_with_a_key_places_one_order(http: httpx.Client) -> None:
    product(http, stock=3)
    ann, bob = user(http), user(http, "bob@example.com")
    key = {"Idempotency-Key": "basket 7"}

    def place(user_id: str, wanted: Json) -> httpx.Response:
        return http.post(f"/users/{user_id}/orders", json=wanted, headers=key)

    first = place(ann, basket(MUG_BLUE=2))
    again = place(ann, basket(MUG_BLUE=2))  # one is left: a new order would be out of stock
    assert ok(first, 201) == ok(again, 201)
    assert first.headers["location"] == again.headers["location"]
    assert (stock(http), ok(http.get(f"/users/{ann}"))["order_count"]) == (1, 1)
    assert refused(place(ann, basket(MUG_BLUE=1)), 422) == "key_used"
    assert refused(place(ann, basket("Elsewhere 2", MUG_BLUE=2)), 422) == "key_used"
    ok(place(bob, basket(MUG_BLUE=1)), 201)  # the same key of another user
    assert stock(http) == 0


# Errors


def test_duplicate_email_is_refused(http: httpx.Client) -> None:
    ann = user(http, "ann@example.com")
    assert refused(http.post("/users", json={"email": "ANN@example.com", "name": "Other"}), 409) == "email_taken"
    assert ok(http.get("/users", params={"email": "ann@example.com"}))["user_id"] == ann


def test_order_beyond_the_stock_changes_nothing(http: httpx.Client) -> None:
    product(http, "MUG-BLUE", stock=5)
    product(http, "TEA-GREEN", stock=2)
    ann = user(http)
    answer = http.post(f"/users/{ann}/orders", json=basket(MUG_BLUE=1, TEA_GREEN=3))
    assert refused(answer, 409) == "out_of_stock"
    assert answer.json()["detail"] == "of TEA-GREEN there are 2 left"
    assert [stock(http, "MUG-BLUE"), stock(http, "TEA-GREEN")] == [5, 2]
    assert listed(http, f"/users/{ann}/orders") == []
    assert ok(http.get(f"/users/{ann}"))["order_count"] == 0


def test_missing_users_orders_and_products_are_404(http: httpx.Client) -> None:
    product(http)
    nobody = f"/users/{uuid4()}"
    where = {"street": "s", "city": "c", "postcode": "p"}
    assert refused(http.get(nobody), 404) == "no_such_user"
    assert refused(http.get(f"{nobody}/account"), 404) == "no_such_user"
    assert refused(http.get("/users", params={"email": "nobody@example.com"}), 404) == "no_such_user"
    assert refused(http.put(f"{nobody}/addresses/home", json=where), 404) == "no_such_user"
    assert refused(http.post(f"{nobody}/orders", json=basket(MUG_BLUE=1)), 404) == "no_such_user"
    assert stock(http) == 10
    assert refused(http.get("/products/CUP"), 404) == "no_such_product"
    assert refused(http.get("/orders/01KF5NQRT4J94TXMPVT19396G5"), 404) == "no_such_order"
    assert refused(http.patch("/orders/x", json={"status": "PAID"}), 404) == "no_such_order"
    assert refused(http.post("/orders/x/cancellation"), 404) == "no_such_order"


def test_invalid_cursor_is_refused(http: httpx.Client) -> None:
    product(http)
    ann, bob = user(http), user(http, "bob@example.com")
    for who in (ann, ann, bob, bob):
        buy(http, who, MUG_BLUE=1)
    cursor = ok(http.get(f"/users/{ann}/orders", params={"limit": 1}))["after"]
    for path, after in [
        (f"/users/{ann}/orders", "garbage"),
        (f"/users/{ann}/orders", cursor[:-4]),
        (f"/users/{bob}/orders", cursor),
        (f"/users/{ann}/account", cursor),
        ("/admin/orders?status=PENDING", cursor),
        ("/admin/orders/last-7-days", "%%%"),
    ]:
        assert refused(http.get(httpx.URL(path).copy_merge_params({"after": after})), 400) == "bad_cursor", path


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/users", {"email": "ann@example.com"}),
        ("POST", "/users", {"email": "nobody", "name": "Ann"}),
        ("POST", "/users", {"email": "ann@example.com", "name": "x" * 201}),
        ("GET", "/users/42", None),
        ("GET", "/users?email=", None),
        ("PUT", "/products/MUG", {"name": "Mug", "price": "-1", "stock": 1}),
        ("PUT", "/products/MUG", {"name": "Mug", "price": "NaN", "stock": 1}),
        ("PUT", "/products/MUG", {"name": "Mug", "price": "1.005", "stock": 1}),
        ("PUT", "/products/MUG", {"name": "Mug", "price": "1", "stock": -1}),
        ("PUT", f"/products/{'x' * 2100}", {"name": "Mug", "price": "1", "stock": 1}),
        ("GET", f"/products/{'x' * 2100}", None),
        ("POST", "/users/{ann}/orders", basket()),
        ("POST", "/users/{ann}/orders", basket(MUG_BLUE=0)),
        ("POST", "/users/{ann}/orders", basket(MUG_BLUE=10**40)),
        ("POST", "/users/{ann}/orders", basket(NO_SUCH_THING=1)),
        ("POST", "/users/{ann}/orders", basket(MUG_BLUE=1, **{"MUG-BLUE": 1})),
        ("POST", "/users/{ann}/orders", basket(**{f"P_{n}": 1 for n in range(41)})),
        ("GET", "/users/{ann}/orders?limit=0", None),
        ("GET", "/users/{ann}/orders?status=LOST", None),
        ("GET", "/users/{ann}/orders?since=2026-01-01T00:00:00", None),
        ("GET", "/users/{ann}/orders?status=PAID&since=2026-01-01T00:00:00Z", None),
        ("GET", "/admin/orders", None),
        ("PATCH", "/orders/x", {"status": "LOST"}),
    ],
)
def test_invalid_input_is_refused(shared: httpx.Client, method: str, path: str, body: Json | None) -> None:
    answer = shared.request(method, path.replace("{ann}", user(shared, f"{uuid4()}@example.com")), json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]


def test_largest_allowed_order_fits_a_transaction(http: httpx.Client) -> None:
    names = [f"P-{number}" for number in range(40)]
    for name in names:
        product(http, name, stock=1)
    order = buy(http, user(http), **dict.fromkeys(names, 1))
    assert len(ok(http.get(f"/orders/{order['order_id']}"))["items"]) == 40
    ok(http.post(f"/orders/{order['order_id']}/cancellation"))
    assert {stock(http, name) for name in names} == {1}


def test_unreachable_table_is_503(monkeypatch: pytest.MonkeyPatch, prejoin_url: str) -> None:
    monkeypatch.delenv("SHOP_DB", raising=False)
    monkeypatch.setenv("SHOP_ENDPOINT", prejoin_url)
    with serving() as http:
        product(http)
        monkeypatch.setattr("prejoin.transport.endpoints.RemoteTransport.send_async", _unreachable)
        answer = http.get("/products/MUG-BLUE")
    assert refused(answer, 503) == "busy"
    assert answer.headers["retry-after"] == "1"


async def _unreachable(self: object, operation: str, body: bytes) -> bytes:
    raise ConnectionFailed("nobody answers", operation=operation)


# Concurrency


@pytest.fixture(scope="module")
def two() -> Iterator[list[httpx.Client]]:
    """Two processes of the service with one table on a server."""
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", "0", "--no-access-log"]
    with Embedded() as engine, Server(engine, port=0) as url, ExitStack() as stack:
        environment = {**os.environ, "SHOP_ENDPOINT": url, "PYTHONUNBUFFERED": "1"}
        environment.pop("SHOP_DB", None)
        running = [
            subprocess.Popen(command, cwd=HERE, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)
        ]
        for one in running:
            stack.callback(one.communicate, timeout=30)
            stack.callback(one.terminate)
        yield [stack.enter_context(httpx.Client(base_url=address(one), trust_env=False, timeout=30)) for one in running]


def address(process: subprocess.Popen[str]) -> str:
    """The URL that a service prints when it starts."""
    assert process.stderr
    lines = []
    for line in process.stderr:
        if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
        lines.append(line)
    raise AssertionError("".join(lines))


def at_once(two: list[httpx.Client], requests: list[tuple[str, str, Json | None]]) -> list[httpx.Response]:
    """Sends requests at the same time, alternating between both processes, and returns the responses."""
    start = threading.Barrier(len(requests))

    def send(number: int) -> httpx.Response:
        method, path, body = requests[number]
        start.wait()
        return two[number % 2].request(method, path, json=body)

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(send, range(len(requests))))


def test_concurrent_orders_sell_exactly_the_stock(two: list[httpx.Client]) -> None:
    http = two[0]
    product(http, "LAST-ONES", stock=5)
    people = [user(http, f"{number}@example.com") for number in range(20)]
    answers = at_once(two, [("POST", f"/users/{who}/orders", basket(LAST_ONES=1)) for who in people])

    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [409] * 15
    assert {refused(answer, 409) for answer in answers if answer.status_code == 409} == {"out_of_stock"}
    assert stock(http, "LAST-ONES") == 0
    orders = [answer.json()["order"] for answer in answers if answer.status_code == 201]
    pending = listed(http, "/admin/orders", status="PENDING")
    assert {order["order_id"] for order in pending} == {order["order_id"] for order in orders}
    for order in orders:
        assert everywhere(http, order) == ["PENDING"] * 6
    counts = [ok(http.get(f"/users/{who}"))["order_count"] for who in people]
    assert counts == [int(answer.status_code == 201) for answer in answers]


def test_concurrent_requests_with_one_key_place_one_order(two: list[httpx.Client]) -> None:
    http = two[0]
    product(http, "CUP", stock=10)
    ann = user(http, "key@example.com")
    for client in two:
        client.headers["Idempotency-Key"] = "once"
    answers = at_once(two, [("POST", f"/users/{ann}/orders", basket(CUP=2))] * 10)
    for client in two:
        del client.headers["Idempotency-Key"]
    assert [ok(answer, 201) for answer in answers] == [ok(answers[0], 201)] * 10
    assert listed(http, f"/users/{ann}/orders") == [ok(answers[0], 201)["order"]]
    assert (stock(http, "CUP"), ok(http.get(f"/users/{ann}"))["order_count"]) == (8, 1)


def test_concurrent_payment_and_cancellation_do_not_both_succeed(two: list[httpx.Client]) -> None:
    http = two[0]
    product(http, "PEN", stock=10)
    ann = user(http, "both@example.com")
    for _ in range(5):
        order = buy(http, ann, PEN=2)
        path = f"/orders/{order['order_id']}"
        cancel: tuple[str, str, Json | None] = ("POST", f"{path}/cancellation", None)
        answers = at_once(two, [cancel, ("PATCH", path, {"status": "PAID"})] * 4)
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) <= {200, 409}
        assert statuses[1::2].count(200) <= 1  # it was paid for once, or cancelled before
        assert set(everywhere(http, order)) == {"CANCELLED"}  # which may follow on PAID, but not the other way round
        assert stock(http, "PEN") == 10
