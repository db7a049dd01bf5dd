"""One call of a botocore client, served by an engine: its events fire, but nothing is signed, resolved or sent.

Everything above the client is botocore's own: parameter validation, the resource's conversions, paginators, waiters,
stubs and exceptions. Everything below (endpoint, signature, retries, HTTP) is skipped.

An aiobotocore client has the same parts, but some return an awaitable. So the steps of a call are written once, as a
generator that yields what those parts return and continues with the result.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator
from inspect import isawaitable
from typing import Any, TypeVar

import msgspec

from prejoin.engine.http.handler import Backend
from prejoin.engine.http.messages import JSON, http_date, request_id
from prejoin.protocol.errors import DynamoDBError
from prejoin.testing.botocore_shapes import binary_reader, plainly_valid

R = TypeVar("R")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_AS_THEY_STAND = frozenset(
    {
        "Attributes",
        "Count",
        "Item",
        "Items",
        "LastEvaluatedKey",
        "Responses",
        "ScannedCount",
        "UnprocessedItems",
        "UnprocessedKeys",
    }
)
"""Members of responses that are the same in JSON and in Python, except for binary values."""


class FakeHttpResponse:
    """A stand-in for an HTTP response, with the attributes that event handlers use."""

    __slots__ = ("content", "headers", "raw", "status_code", "url")

    def __init__(self, url: str, status_code: int, headers: dict[str, str], content: bytes) -> None:
        self.url, self.status_code, self.headers, self.content, self.raw = url, status_code, headers, content, None

    @property
    def text(self) -> str:
        return self.content.decode()


class _Operation:
    """The common part of all calls of one operation."""

    __slots__ = ("before_build", "before_call", "called", "model", "provide", "read_binary", "target", "valid")

    def __init__(self, service: Any, name: str) -> None:
        self.model = service.operation_model(name)
        shape, response = self.model.input_shape, self.model.output_shape
        self.valid: Callable[[Any], bool] = plainly_valid(shape) if shape is not None else lambda value: False
        self.read_binary = binary_reader(response) if response is not None else None
        self.target = f"{service.metadata['targetPrefix']}.{name}"
        suffix = f"{service.service_id.hyphenize()}.{name}"
        self.provide, self.before_build = f"provide-client-params.{suffix}", f"before-parameter-build.{suffix}"
        self.before_call, self.called = f"before-call.{suffix}", f"after-call.{suffix}"


Steps = Generator[Any, Any, R]


def run(steps: Steps[R]) -> R:
    """Run the steps of a botocore client."""
    answer = None
    try:
        while True:
            answer = steps.send(answer)
    except StopIteration as stop:
        result: R = stop.value
        return result


async def run_async(steps: Steps[R]) -> R:
    """Run the steps of an aiobotocore client."""
    answer = None
    try:
        while True:
            answer = steps.send(await answer if isawaitable(answer) else answer)
    except StopIteration as stop:
        result: R = stop.value
        return result


def make_api_call(engine: Backend, client: Any, name: str, params: dict[str, Any]) -> Steps[dict[str, Any]]:
    """Do what `client._make_api_call` does, on an engine."""
    operation = _operation(client, name)
    model, events = operation.model, client.meta.events
    context = {
        "client_region": client.meta.region_name,
        "client_config": client.meta.config,
        "has_streaming_input": False,
        "auth_type": model.auth_type,
    }
    # As botocore does: the first handler with an answer replaces the parameters.
    for _, changed_params in (yield events.emit(operation.provide, params=params, model=model, context=context)):
        if changed_params is not None:
            params = changed_params
            break
    yield events.emit(operation.before_build, params=params, model=model, context=context)
    request = {
        "url_path": "/",
        "query_string": "",
        "method": "POST",
        "headers": {"X-Amz-Target": operation.target, "Content-Type": JSON},
        "body": _body(client, operation, params),
        "url": client.meta.endpoint_url,
        "context": context,
    }
    # botocore's Stubber answers here, so stubbed calls do not reach the engine.
    _, stub = yield events.emit_until_response(
        operation.before_call, model=model, params=request, request_signer=client._request_signer, context=context
    )
    http, response = stub if stub is not None else (yield from make_request(engine, client, name, request))
    yield events.emit(operation.called, http_response=http, parsed=response, model=model, context=context)
    if http.status_code >= 300:
        code = context.get("error_code_override") or response.get("Error", {}).get("Code")
        raise client.exceptions.from_code(code)(response, name)
    parsed: dict[str, Any] = response
    return parsed


def _operation(client: Any, name: str) -> _Operation:
    # Stored in the client, to be freed with it. In `__dict__`, because a client answers any getattr().
    operations: dict[str, _Operation] = client.__dict__.setdefault("_prejoin_operations", {})
    operation = operations.get(name)
    if operation is None:
        operation = operations[name] = _Operation(client.meta.service_model, name)
    return operation


def _body(client: Any, operation: _Operation, params: dict[str, Any]) -> bytes:
    if operation.valid(params):
        try:
            return _encode(params)
        except (ValueError, RecursionError):  # half a surrogate pair, which botocore handles
            pass
    body = client._serializer.serialize_to_request(params, operation.model)["body"]
    return body.encode() if isinstance(body, str) else bytes(body)


def make_request(
    engine: Backend, client: Any, name: str, request: dict[str, Any]
) -> Steps[tuple[FakeHttpResponse, dict[str, Any]]]:
    """Do what `client._make_request` does, on an engine."""
    operation = _operation(client, name)
    http = _ask(engine, operation, request)
    response = _read(operation, http)
    if response is None:
        response = yield from _parse(client, operation, http)
    response["ResponseMetadata"]["RetryAttempts"] = 0
    return http, response


def _ask(engine: Backend, operation: _Operation, request: dict[str, Any]) -> FakeHttpResponse:
    try:
        status, body = 200, engine.send(operation.model.name, request["body"])
    except DynamoDBError as error:
        status, body = error.status, error.body()
    except ConnectionResetError as error:
        from botocore.exceptions import ConnectionClosedError  # type: ignore[import-untyped]

        raise ConnectionClosedError(endpoint_url=request["url"]) from error
    headers = {
        "server": "prejoin",
        "date": http_date(),
        "content-type": JSON,
        "content-length": str(len(body)),
        "x-amzn-requestid": request_id(),
        "x-amz-crc32": str(zlib.crc32(body)),
    }
    return FakeHttpResponse(request["url"], status, headers, body)


def _read(operation: _Operation, http: FakeHttpResponse) -> dict[str, Any] | None:
    """Decode a response that is the same in JSON and in Python; None if botocore has to parse it."""
    if http.status_code != 200:
        return None
    body = http.content
    response: dict[str, Any] = _decode(body) if body else {}  # some operations answer with nothing
    if not _AS_THEY_STAND.issuperset(response):
        return None
    if operation.read_binary is not None and (b'"B"' in body or b'"BS"' in body):
        operation.read_binary(response)
    number, headers = http.headers["x-amzn-requestid"], http.headers
    response["ResponseMetadata"] = {"RequestId": number, "HTTPStatusCode": 200, "HTTPHeaders": headers}
    return response


def _parse(client: Any, operation: _Operation, http: FakeHttpResponse) -> Steps[dict[str, Any]]:
    """Parse with botocore, including the members that its model gives to an error."""
    parser = client._response_parser
    raw = {"headers": http.headers, "status_code": http.status_code, "body": http.content}
    response: dict[str, Any] = yield parser.parse(raw, operation.model.output_shape)
    if http.status_code >= 300:
        shape = client.meta.service_model.shape_for_error_code(response.get("Error", {}).get("Code"))
        if shape is not None:
            response.update((yield parser.parse(raw, shape)))
    return response
