"""boto3 on the embedded engine: for a stretch of code (`mock_dynamodb`), or for one client (`attach`)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, TypeVar, overload

from botocore.client import BaseClient  # type: ignore[import-untyped]

from prejoin.engine import Embedded
from prejoin.engine.http.front import Engine
from prejoin.testing.call import call, run, run_async
from prejoin.testing.decorate import decorate
from prejoin.testing.patch import SERVICE, OtherServices, Stay, enter, leave

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


def attach(client: C, engine: Engine) -> C:
    """Have one boto3 client or resource, and whatever is made from it, ask this engine from now on. Gives it back.

    >>> import boto3
    >>> with Embedded() as engine:
    ...     attach(boto3.client("dynamodb", region_name="eu-west-1"), engine).list_tables()["TableNames"]
    []
    """
    inner = getattr(getattr(client, "meta", None), "client", client)
    if not isinstance(inner, BaseClient) or inner.meta.service_model.service_name != SERVICE:
        raise TypeError(f"attach() takes a boto3 client or resource of DynamoDB, not {client!r}")

    drive = run_async if iscoroutinefunction(type(inner)._make_api_call) else run
    inner._make_api_call = lambda operation_name, api_params: drive(call(engine, inner, operation_name, api_params))
    return client


class Mock:
    """While it is entered, every DynamoDB client and resource asks its engine; also those that were made before."""

    def __init__(self, engine: Embedded | None, other_services: OtherServices) -> None:
        if other_services not in ("pass", "refuse"):
            raise ValueError(f'other_services is "pass" or "refuse", not {other_services!r}')
        self._given = engine
        self._other_services: OtherServices = other_services
        self._entered: list[Stay] = []

    def __call__(self, function: F) -> F:
        """The function with this around each call, or the class with this around each of its tests."""
        return decorate(lambda: Mock(self._given, self._other_services), function)

    def start(self) -> Embedded:
        """Enter it where `with` does not fit; `stop()` leaves it."""
        stay = enter(self._given, self._other_services)
        self._entered.append(stay)
        return stay.engine

    def stop(self) -> None:
        if not self._entered:
            raise RuntimeError("stop() was called on a mock_dynamodb() that is not started")
        leave(self._entered.pop())

    def __enter__(self) -> Embedded:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@overload
def mock_dynamodb(function: F, /) -> F: ...


@overload
def mock_dynamodb(*, engine: Embedded | None = None, other_services: OtherServices = "pass") -> Mock: ...


def mock_dynamodb(
    function: F | None = None,
    /,
    *,
    engine: Embedded | None = None,
    other_services: OtherServices = "pass",
) -> F | Mock:
    """Runs boto3 code on an engine in this process: `with mock_dynamodb() as engine:`, or as a decorator.

    Without an engine it is a new one in memory; inside of another it is that one's, so that the mock of a fixture and
    that of a test are about the same tables. No credentials or region are needed. Calls of other services go where
    they always went, so that they can be stubbed by other means; with `other_services="refuse"` they raise.

    >>> import boto3
    >>> with mock_dynamodb():
    ...     boto3.client("dynamodb").list_tables()["TableNames"]
    []
    """
    mock = Mock(engine, other_services)
    return mock if function is None else mock(function)
