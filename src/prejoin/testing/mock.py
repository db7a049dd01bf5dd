"""boto3 on the embedded engine: for a block of code (`mock_dynamodb`), or for one client (`attach`).

While a mock is active, a few methods of botocore's classes (and aiobotocore's, if imported) are replaced.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from types import FunctionType, TracebackType
from typing import Any, Literal, TypeVar, overload

from botocore.client import BaseClient  # type: ignore[import-untyped]
from botocore.session import Session  # type: ignore[import-untyped]

from prejoin.engine import Embedded
from prejoin.engine.http.handler import Backend
from prejoin.engine.regions import Regions
from prejoin.testing.botocore_call import make_api_call, make_request, run, run_async
from prejoin.testing.decorator import decorate

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


def attach(client: C, engine: Backend) -> C:
    """Connect one boto3 client or resource, and everything created from it, to this engine. Returns the client.

    >>> import boto3
    >>> with Embedded() as engine:
    ...     attach(boto3.client("dynamodb", region_name="eu-west-1"), engine).list_tables()["TableNames"]
    []
    """
    inner = getattr(getattr(client, "meta", None), "client", client)
    if not isinstance(inner, BaseClient) or inner.meta.service_model.service_name not in SERVICES:
        raise TypeError(f"attach() takes a boto3 client or resource of DynamoDB, not {client!r}")

    drive = run_async if iscoroutinefunction(type(inner)._make_api_call) else run
    inner._make_api_call = lambda operation_name, api_params: drive(
        make_api_call(engine, inner, operation_name, api_params)
    )
    return client


class Mock:
    """While it is active, every DynamoDB client and resource uses its engine, even those created before."""

    def __init__(self, engine: Embedded | None, other_services: OtherServices, regions: bool) -> None:
        if other_services not in ("pass", "refuse"):
            raise ValueError(f'other_services is "pass" or "refuse", not {other_services!r}')
        self._given = engine
        self._other_services: OtherServices = other_services
        self._regions = regions
        self._started: list[ActiveMock] = []

    def __call__(self, function: F) -> F:
        """Decorate a function, or a class of tests."""
        return decorate(lambda: Mock(self._given, self._other_services, self._regions), function)

    def start(self) -> Embedded:
        """Start it where `with` does not fit. `stop()` ends it."""
        stay = _enter(self._given, self._other_services, regions=self._regions)
        self._started.append(stay)
        return stay.engine

    def stop(self) -> None:
        if not self._started:
            raise RuntimeError("stop() was called on a mock_dynamodb() that is not started")
        _leave(self._started.pop())

    def __enter__(self) -> Embedded:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@overload
def mock_dynamodb(function: F, /) -> F: ...


@overload
def mock_dynamodb(
    *, engine: Embedded | None = None, other_services: OtherServices = "pass", regions: bool = True
) -> Mock: ...


def mock_dynamodb(
    function: F | None = None,
    /,
    *,
    engine: Embedded | None = None,
    other_services: OtherServices = "pass",
    regions: bool = True,
) -> F | Mock:
    """Runs boto3 code on an engine in this process: `with mock_dynamodb() as engine:`, or as a decorator.

    Without an engine it is a new one in memory; inside of another it is that one's, so that the mock of a fixture and
    that of a test are about the same tables. No credentials or region are needed. Calls of other services go where
    they always went, so that they can be stubbed by other means; with `other_services="refuse"` they raise. A new
    engine has `newer_messages`.

    Regions have tables of their own, and so have accounts: an access key of twelve digits is an account's number. The
    engine that is given, or returned, is that of the first caller. With `regions=False` all share its tables.

    >>> import boto3
    >>> with mock_dynamodb():
    ...     boto3.client("dynamodb").list_tables()["TableNames"]
    []
    """
    mock = Mock(engine, other_services, regions)
    return mock if function is None else mock(function)


Method = Callable[..., Any]

SERVICES = frozenset({"dynamodb", "dynamodbstreams"})
_THEIRS = ("botocore.", "aiobotocore.")
_REGION = "us-east-1"
OtherServices = Literal["pass", "refuse"]


@dataclass(frozen=True, eq=False, slots=True)
class ActiveMock:
    """A mock that is active. Mocks may end in any order, as fixtures and threads do."""

    engine: Embedded
    other_services: OtherServices
    regions: Regions | None


_lock = threading.Lock()
_active_mocks: list[ActiveMock] = []
_own_engines: set[Embedded] = set()
"""The engines that were created here. The last mock that uses one closes it."""
_originals: list[tuple[Any, str, Any]] = []
"""The replaced methods, with their classes and names."""


def _enter(given_engine: Embedded | None, other_services: OtherServices, *, regions: bool) -> ActiveMock:
    """Connect all clients to this engine. Without one, use the active engine, or a new one."""
    with _lock:
        if given_engine is not None:
            engine = given_engine
        elif _active_mocks:
            engine = _active_mocks[-1].engine
        else:
            engine = _new_engine()
            _own_engines.add(engine)
        engine_regions = next((stay.regions for stay in _active_mocks if stay.engine is engine and stay.regions), None)
        if engine_regions is None and regions:
            engine_regions = Regions(engine, make=_new_engine)
        stay = ActiveMock(engine, other_services, engine_regions if regions else None)
        _active_mocks.append(stay)
        _replace_all()
        return stay


def _new_engine() -> Embedded:
    """Return an engine with AWS's newer messages, which moto's tests expect, too."""
    return Embedded(newer_messages=True)


def _leave(stay: ActiveMock) -> None:
    with _lock:
        _active_mocks.remove(stay)
        if stay.regions is not None and all(other.regions is not stay.regions for other in _active_mocks):
            stay.regions.close()
        if stay.engine in _own_engines and all(other.engine is not stay.engine for other in _active_mocks):
            _own_engines.remove(stay.engine)
            stay.engine.close()
        while _originals and not _active_mocks:
            owner, name, original = _originals.pop()
            setattr(owner, name, original)


# --- The methods ----------------------------------------------------------------------------------------------------


def _replace_all() -> None:
    """Replace the methods of botocore, and of aiobotocore if it is imported.

    Called for each mock, because aiobotocore may have been imported since. Programs without it do not load it.
    """
    _replace(BaseClient, _make_api_call=_api_call_replacement(run), _make_request=_request_replacement(run))
    _replace(Session, create_client=_create_client_replacement)
    client, session = sys.modules.get("aiobotocore.client"), sys.modules.get("aiobotocore.session")
    if client is not None and session is not None:
        _replace(
            client.AioBaseClient,
            _make_api_call=_api_call_replacement(run_async),
            _make_request=_request_replacement(run_async),
        )
        _replace(session.AioSession, _create_client=_create_client_replacement)


def _replace(owner: Any, **methods: Callable[[Method], Method]) -> None:
    """Replace methods of a class, once."""
    if all(owner is not other for other, _, _ in _originals):
        for name, make in methods.items():
            original = owner.__dict__[name]
            _originals.append((owner, name, original))
            setattr(owner, name, make(original))


def _api_call_replacement(drive: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Return what replaces `_make_api_call`: the short way to the engine.

    Calls that other tools have wrapped stay wrapped, and use the long way.
    """

    def make(original: Method) -> Method:
        if type(original) is not FunctionType or not original.__globals__["__name__"].startswith(_THEIRS):
            return original

        def patched_call(self: Any, operation_name: str, api_params: dict[str, Any]) -> Any:
            engine = _engine_for(self, operation_name)
            if engine is None:
                return original(self, operation_name, api_params)
            return drive(make_api_call(engine, self, operation_name, api_params))

        return patched_call

    return make


def _request_replacement(drive: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Return what replaces `_make_request`: the long way, through all of botocore's own call, for tools that kept the
    original method."""

    def make(original: Method) -> Method:
        def patched_request(self: Any, operation_model: Any, request_dict: dict[str, Any], request_context: Any) -> Any:
            engine = _engine_for(self, operation_model.name)
            if engine is None:
                return original(self, operation_model, request_dict, request_context)
            return drive(make_request(engine, self, operation_model.name, request_dict))

        return patched_request

    return make


def _engine_for(client: Any, operation_name: str) -> Embedded | None:
    """Return the engine that serves a call; None if the call goes its usual way."""
    service = client.meta.service_model.service_name
    if service in SERVICES:
        return _engine_of(_active_mocks[-1], client) if _active_mocks else None
    if any(stay.other_services == "refuse" for stay in _active_mocks):
        raise RuntimeError(
            f"{service}:{operation_name} was called inside mock_dynamodb(other_services='refuse'): "
            "only DynamoDB is mocked here, and other services are refused"
        )
    return None


def _engine_of(stay: ActiveMock, client: Any) -> Embedded:
    """Return the engine of the client's region and account."""
    if stay.regions is None:
        return stay.engine
    # Not through the properties of credentials, which may fetch new ones.
    credential_fields = (
        vars(client._request_signer._credentials) if client._request_signer._credentials is not None else {}
    )
    return stay.regions.at(
        client.meta.region_name, credential_fields.get("access_key") or credential_fields.get("_access_key") or ""
    )


def _create_client_replacement(original: Method) -> Method:
    """Return what replaces `create_client`: it adds credentials and a region that are not given.

    Also for a coroutine function: its arguments are known before anything is awaited.
    """

    def create_client(self: Any, service_name: str, *positional: Any, **keywords: Any) -> Any:
        if service_name in SERVICES and not positional:
            _fill_in(self, keywords)
        return original(self, service_name, *positional, **keywords)

    return create_client


def _fill_in(session: Any, keywords: dict[str, Any]) -> None:
    """Add credentials and a region, unless they are given.

    Nothing is signed, so any credentials will do. Looking for real ones can take seconds.
    """
    credentials = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    if all(keywords.get(name) is None for name in credentials):
        keywords.update(aws_access_key_id="prejoin", aws_secret_access_key="prejoin")  # noqa: S106
    config = keywords.get("config")
    if (
        keywords.get("region_name") is None
        and getattr(config, "region_name", None) is None
        and session.get_config_variable("region") is None
    ):
        keywords["region_name"] = _REGION
