"""The Lambda function, called with events as an HTTP API of API Gateway sends them."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from fastapi.routing import APIRoute

import handler
import service

HERE = Path(__file__).resolve().parent.parent
Json = dict[str, Any]
SHIP_TO = {"street": "Bergstrasse 1", "city": "Zürich", "postcode": "8001"}


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Starts a new instance, with a table in memory."""
    monkeypatch.setenv("SHOP_DB", "memory")
    monkeypatch.setenv("SHOP_CURSOR_KEY", "8f" * 32)
    handler.repository.cache_clear()
    yield
    handler.repository.cache_clear()


def event(method: str, path: str, body: str | None = None, query: Json | None = None, **headers: str) -> Json:
    """The event of a request, with all fields that API Gateway sends."""
    route, parameters = route_of(method, path)
    found: Json = {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": urlencode(query or {}),
        "headers": {
            "accept": "*/*",
            "content-length": str(len(body or "")),
            "host": "r3pmxmplak.execute-api.eu-central-1.amazonaws.com",
            "x-amzn-trace-id": "Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e",
            "x-forwarded-for": "203.0.113.7",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "r3pmxmplak",
            "domainName": "r3pmxmplak.execute-api.eu-central-1.amazonaws.com",
            "domainPrefix": "r3pmxmplak",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.7",
                "userAgent": "curl/8.5.0",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": route,
            "stage": "$default",
            "time": "10/Mar/2026:05:16:23 +0000",
            "timeEpoch": 1773119783196,
        },
        "isBase64Encoded": False,
    }
    if parameters:
        found["pathParameters"] = parameters
    if query:
        found["queryStringParameters"] = {name: str(value) for name, value in query.items()}
    if body is not None:
        found["body"] = body
    return found


def route_of(method: str, path: str) -> tuple[str, dict[str, str]]:
    """The route of a path, and its path parameters. Fixed parts take precedence over parameters, as at AWS."""
    for route in sorted(handler.ROUTES, key=lambda route: route.count("{")):
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route)
        if match := re.fullmatch(pattern, f"{method} {path}"):
            return route, match.groupdict()
    return "$default", {}


def call(method: str, path: str, body: object = None, status: int = 200, /, **query: object) -> Any:
    """The body of the response, which must have the status."""
    text = None if body is None else json.dumps(body)
    response = handler.handler(event(method, path, text, query), None)
    assert response["statusCode"] == status, response
    return read(response)


def read(response: Json) -> Any:
    """The body of a response, which must have the form that API Gateway expects."""
    assert response.keys() <= {"statusCode", "headers", "body"}
    if "body" not in response:
        return None
    assert response["headers"]["content-type"] == "application/json"
    return json.loads(response["body"])


def user(email: str = "ann@example.com") -> str:
    user_id: str = call("POST", "/users", {"email": email, "name": "Ann"}, 201)["user_id"]
    return user_id


def product(product_id: str = "MUG", stock: int = 10) -> None:
    call("PUT", f"/products/{product_id}", {"name": "Mug", "price": 9.9, "stock": stock})


def basket(**lines: int) -> Json:
    return {"ship_to": SHIP_TO, "lines": [{"product_id": name, "quantity": many} for name, many in lines.items()]}


def listed(path: str, **query: object) -> list[Json]:
    """All items of a list, from all pages."""
    found: list[Json] = []
    while True:
        page = call("GET", path, **query)
        found += page["items"]
        if page["after"] is None:
            return found
        query["after"] = page["after"]


def test_a_customer_registers_buys_and_follows_the_order() -> None:
    product("MUG", 10)
    product("TEA", 3)
    ann = call("POST", "/users", {"email": "Ann@Example.com", "name": "Ann"}, 201)
    me = f"/users/{ann['user_id']}"
    assert call("GET", "/users", email="ann@example.com") == call("GET", me) == ann
    home = call("PUT", f"{me}/addresses/home", SHIP_TO)
    placed = call("POST", f"{me}/orders", basket(MUG=2, TEA=3), 201)
    order = placed["order"]
    assert float(order["total"]) == 49.5
    assert call("GET", f"/orders/{order['order_id']}") == placed
    assert call("GET", "/products/TEA")["stock"] == 0
    account = {"user": {**ann, "order_count": 1}, "addresses": [home], "orders": [order], "after": None}
    assert call("GET", f"{me}/account") == account
    for status in ("PAID", "SHIPPED", "DELIVERED"):
        moved = call("PATCH", f"/orders/{order['order_id']}", {"status": status})
        assert moved == {**order, "status": status}
        assert listed("/admin/orders", status=status) == listed(f"{me}/orders", status=status) == [moved]
        assert listed("/admin/orders/last-7-days") == listed(f"{me}/orders") == [moved]
    assert call("DELETE", f"{me}/addresses/home", None, 204) is None
    assert call("GET", f"{me}/account")["addresses"] == []


def test_orders_come_newest_first_page_by_page() -> None:
    product()
    ann = user()
    orders = [call("POST", f"/users/{ann}/orders", basket(MUG=1), 201)["order"] for _ in range(5)]
    path = f"/users/{ann}/orders"
    assert listed(path, limit=2) == listed("/admin/orders/last-7-days", limit=2) == orders[::-1]
    assert listed(path, since=orders[1]["placed_at"], until=orders[2]["placed_at"]) == [orders[2], orders[1]]
    assert listed(path, until=orders[0]["placed_at"]) == [orders[0]]


def test_cancellation_returns_the_stock_once() -> None:
    product("MUG", 5)
    order_id = call("POST", f"/users/{user()}/orders", basket(MUG=2), 201)["order"]["order_id"]
    for _ in range(2):
        assert call("POST", f"/orders/{order_id}/cancellation")["status"] == "CANCELLED"
        assert call("GET", "/products/MUG")["stock"] == 5
    assert call("PATCH", f"/orders/{order_id}", {"status": "PAID"}, 409)["code"] == "wrong_status"


def test_repeated_event_with_a_key_places_one_order() -> None:
    product("MUG", 3)
    ann = user()
    once = event("POST", f"/users/{ann}/orders", json.dumps(basket(MUG=2)), idempotency_key="basket 7")
    first = handler.handler(once, None)
    assert first["statusCode"] == 201
    assert handler.handler(once, None) == first
    assert first["headers"]["location"] == f"/orders/{read(first)['order']['order_id']}"
    assert (call("GET", "/products/MUG")["stock"], call("GET", f"/users/{ann}")["order_count"]) == (1, 1)
    other = event("POST", f"/users/{ann}/orders", json.dumps(basket(MUG=1)), idempotency_key="basket 7")
    assert read(handler.handler(other, None))["code"] == "key_used"


def test_a_body_in_base64_is_the_same_body() -> None:
    plain = event("POST", "/users", json.dumps({"email": "zoë@example.com", "name": "Zoë"}, ensure_ascii=False))
    coded = {**plain, "isBase64Encoded": True, "body": base64.b64encode(plain["body"].encode()).decode()}
    answer = handler.handler(coded, None)
    assert (answer["statusCode"], read(answer)["name"]) == (201, "Zoë")


def test_conflicts_and_missing_items_have_error_responses() -> None:
    product("MUG", 1)
    ann = user()
    assert call("POST", "/users", {"email": "ann@example.com", "name": "B"}, 409)["code"] == "email_taken"
    assert call("POST", f"/users/{ann}/orders", basket(MUG=2), 409) == {
        "code": "out_of_stock",
        "detail": "of MUG there are 1 left",
    }
    assert call("POST", f"/users/{uuid4()}/orders", basket(MUG=1), 404)["code"] == "no_such_user"
    assert call("GET", f"/users/{uuid4()}", None, 404)["code"] == "no_such_user"
    assert call("GET", f"/users/{uuid4()}/account", None, 404)["code"] == "no_such_user"
    assert call("GET", "/users", None, 404, email="bob@example.com")["code"] == "no_such_user"
    assert call("GET", "/orders/x", None, 404)["code"] == "no_such_order"
    assert call("GET", "/products/CUP", None, 404)["code"] == "no_such_product"
    assert call("GET", f"/users/{ann}/orders", None, 400, after="garbage")["code"] == "bad_cursor"
    assert call("GET", "/products/MUG")["stock"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "query"),
    [
        ("POST", "/users", {"email": "ann@example.com"}, {}),
        ("POST", "/users", {"email": "nobody", "name": "Ann"}, {}),
        ("GET", "/users/42", None, {}),
        ("GET", "/users", None, {}),
        ("PUT", "/products/MUG", {"name": "Mug", "price": "NaN", "stock": 1}, {}),
        ("PUT", "/products/MUG", {"name": "Mug", "price": 1, "stock": "1"}, {}),
        ("PUT", f"/products/{'x' * 2100}", {"name": "Mug", "price": 1, "stock": 1}, {}),
        ("POST", "/users/{ann}/orders", basket(), {}),
        ("POST", "/users/{ann}/orders", basket(NOTHING=1), {}),
        ("POST", "/users/{ann}/orders", basket(MUG=10**40), {}),
        ("GET", "/users/{ann}/orders", None, {"limit": 0}),
        ("GET", "/users/{ann}/orders", None, {"limit": "many"}),
        ("GET", "/users/{ann}/orders", None, {"status": "LOST"}),
        ("GET", "/users/{ann}/orders", None, {"since": "2026-01-01T00:00:00"}),
        ("GET", "/users/{ann}/orders", None, {"since": "2026-01-01T00:00:00Z", "status": "PAID"}),
        ("GET", "/admin/orders", None, {}),
    ],
)
def test_invalid_input_is_refused(method: str, path: str, body: Json | None, query: Json) -> None:
    assert call(method, path.replace("{ann}", user()), body, 422, **query)["detail"]


@pytest.mark.parametrize("body", ["", "{", "\ud800", "email=ann"])
def test_body_that_is_not_json_is_refused(body: str) -> None:
    answer = handler.handler(event("POST", "/users", body), None)
    assert (answer["statusCode"], read(answer)["code"]) == (400, "unreadable")


def test_body_that_is_not_utf8_is_refused() -> None:
    answer = handler.handler({**event("POST", "/users", "//79"), "isBase64Encoded": True}, None)
    assert (answer["statusCode"], read(answer)["code"]) == (400, "unreadable")


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("DELETE", "/users"), ("GET", "/orders/x/y")])
def test_unknown_route_is_404(method: str, path: str) -> None:
    assert call(method, path, None, 404)["code"] == "no_such_route"


def test_one_client_serves_all_invocations() -> None:
    user()
    first = handler.repository()
    call("GET", "/users", email="ann@example.com")
    assert handler.repository() is first


def test_the_function_the_service_and_the_template_have_the_same_routes() -> None:
    served = {
        f"{method} {route.path}"
        for route in service.app.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    template = (HERE / "sam.yaml").read_text("utf-8")
    deployed = re.findall(r"Properties: \{ Method: (\w+), Path: (\S+) \}", template)
    assert set(handler.ROUTES) == served
    assert sorted(handler.ROUTES) == sorted(f"{method} {path.strip(chr(39))}" for method, path in deployed)


def test_sam_template_uses_outputs_of_the_table_template() -> None:
    taken = set(re.findall(r"Table\.Outputs\.(\w+)", (HERE / "sam.yaml").read_text("utf-8")))
    _, _, outputs = (HERE / "template.yaml").read_text("utf-8").partition("\nOutputs:\n")
    assert taken == {"TableName", "CustomersPolicyArn", "StaffPolicyArn"}
    assert taken <= set(re.findall(r"^  (\w+):", outputs, re.MULTILINE))


def test_the_function_may_run_every_access_pattern_as_a_customer_or_as_staff() -> None:
    roles = tomllib.loads((HERE / "prejoin.toml").read_text("utf-8"))["roles"]
    ids = re.findall(r"^\| (AP-\d+) ", (HERE / "access-patterns.md").read_text("utf-8"), re.MULTILINE)
    assert {*roles["customers"], *roles["staff"]} == set(ids)
    assert not {"AP-008", "AP-009", "AP-023", "AP-025"} & set(roles["customers"])


def test_cold_start_loads_only_the_base_install() -> None:
    script = "import sys, handler; print(*{name.partition('.')[0] for name in sys.modules}, *sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", script], cwd=HERE, text=True).split())
    assert {"handler", "msgspec", "prejoin.table", "shop.repository"} <= loaded
    assert not loaded & {"asyncio", "sqlite3", "fastapi", "pydantic", "botocore", "ssl", "yaml", "jinja2"}
    assert not loaded & {
        "prejoin.engine",
        "prejoin.design",
        "prejoin.workload",
        "prejoin.render",
        "prejoin.pipeline",
        "prejoin.cli",
    }
