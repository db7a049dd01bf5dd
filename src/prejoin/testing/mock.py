"""boto3 on the embedded engine: for a stretch of code (`mock_dynamodb`), or for one client (`attach`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload

from botocore.client import BaseClient  # type: ignore[import-untyped]
from botocore.session import Session  # type: ignore[import-untyped]

from prejoin.engine import Embedded
from prejoin.engine.http.front import Engine
from prejoin.testing.call import call

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_SERVICE = "dynamodb"
_REGION = "us-east-1"
OtherServices = Literal["pass", "refuse"]


def attach(client: C, engine: Engine) -> C:
    """Have one boto3 client or resource, and whatever is made from it, ask this engine from now on. Gives it back.

    >>> import boto3
    >>> with Embedded() as engine:
    ...     attach(boto3.client("dynamodb", region_name="eu-west-1"), engine).list_tables()["TableNames"]
    []
    """
    inner = getattr(getattr(client, "meta", None), "client", client)
    if not isinstance(inner, BaseClient) or inner.meta.service_model.service_name != _SERVICE:
        raise TypeError(f"attach() takes a boto3 client or resource of DynamoDB, not {client!r}")

    def make_api_call(operation_name: str, api_params: dict[str, Any]) -> Any:
        return call(engine, inner, operation_name, api_params)

    inner._make_api_call = make_api_call
    return client


class Mock:
    """While it is entered, every DynamoDB client and resource asks its engine; also those that were made before."""

    def __init__(self, engine: Embedded | None, other_services: OtherServices) -> None:
        if other_services not in ("pass", "refuse"):
            raise ValueError(f'other_services is "pass" or "refuse", not {other_services!r}')
        self._given = engine
        self.other_services: OtherServices = other_services
        self.engine = engine

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, with an engine of its own for each call."""
        if isinstance(function, type) or isgeneratorfunction(function) or isasyncgenfunction(function):
            raise TypeError(
                f"mock_dynamodb cannot decorate {function.__name__}: only functions that are done when they "
                "return. Use the fixture `prejoin_boto3`, or `with mock_dynamodb():` inside"
            )
        if iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*positional: Any, **named: Any) -> Any:
                with Mock(self._given, self.other_services):
                    return await function(*positional, **named)

            return cast("Callable[P, R]", awaited)

        @wraps(function)
        def called(*positional: P.args, **named: P.kwargs) -> R:
            with Mock(self._given, self.other_services):
                return function(*positional, **named)

        return called

    def __enter__(self) -> Embedded:
        if self.engine is None:
            self.engine = Embedded()
        _enter(self)
        return self.engine

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _leave(self)
        if self._given is None and self.engine is not None:
            self.engine.close()
            self.engine = None


@overload
def mock_dynamodb(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def mock_dynamodb(*, engine: Embedded | None = None, other_services: OtherServices = "pass") -> Mock: ...


def mock_dynamodb(
    function: Callable[P, R] | None = None,
    /,
    *,
    engine: Embedded | None = None,
    other_services: OtherServices = "pass",
) -> Callable[P, R] | Mock:
    """Runs boto3 code on an engine in this process: `with mock_dynamodb() as engine:`, or as a decorator.

    Without an engine it is a new one in memory. No credentials or region are needed. Calls of other services go where
    they always went, so that they can be stubbed by other means; with `other_services="refuse"` they raise.

    >>> import boto3
    >>> with mock_dynamodb():
    ...     boto3.client("dynamodb").list_tables()["TableNames"]
    []
    """
    mock = Mock(engine, other_services)
    return mock if function is None else mock(function)


# --- The patch ------------------------------------------------------------------------------------------------------

_lock = threading.Lock()
_active: list[Mock] = []
_originals: list[tuple[Callable[..., Any], Callable[..., Any]]] = []


def _enter(mock: Mock) -> None:
    with _lock:
        if not _active:
            _originals.append((BaseClient._make_api_call, Session.create_client))
            _patch(*_originals[0])
        _active.append(mock)


def _leave(mock: Mock) -> None:
    with _lock:
        _active.remove(mock)
        if not _active:
            BaseClient._make_api_call, Session.create_client = _originals.pop()


def _patch(make_api_call: Callable[..., Any], create_client: Callable[..., Any]) -> None:
    def patched_call(self: Any, operation_name: str, api_params: dict[str, Any]) -> Any:
        mock = _active[-1] if _active else None
        if mock is None or mock.engine is None:
            return make_api_call(self, operation_name, api_params)
        service = self.meta.service_model.service_name
        if service == _SERVICE:
            return call(mock.engine, self, operation_name, api_params)
        if mock.other_services == "refuse":
            raise RuntimeError(
                f"{service}:{operation_name} was called inside mock_dynamodb(other_services='refuse'): "
                "only DynamoDB is answered here, and other services are not to be asked"
            )
        return make_api_call(self, operation_name, api_params)

    def patched_create(self: Any, service_name: str, *positional: Any, **named: Any) -> Any:
        if service_name == _SERVICE and not positional:
            _fill_in(self, named)
        return create_client(self, service_name, *positional, **named)

    BaseClient._make_api_call, Session.create_client = patched_call, patched_create


def _fill_in(session: Any, named: dict[str, Any]) -> None:
    """Nothing is signed, so any key will do; looking for real ones may take seconds where there are none."""
    credentials = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    if all(named.get(name) is None for name in credentials):
        named.update(aws_access_key_id="prejoin", aws_secret_access_key="prejoin")  # noqa: S106
    config = named.get("config")
    if (
        named.get("region_name") is None
        and getattr(config, "region_name", None) is None
        and session.get_config_variable("region") is None
    ):
        named["region_name"] = _REGION
