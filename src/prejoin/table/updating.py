"""Updates being written: what is assigned inside a `with` is one UpdateItem at its end."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from .draft import Draft, changes_of
from .errors import TableError
from .expressions import Where

E = TypeVar("E")


class _Update(Generic[E]):
    """An update being written."""

    _result: E | None = None
    _done = False

    def __init__(
        self, writer: Any, cls: type[E], where: Where[E] | None, known: Mapping[str, Any], how: Mapping[str, Any]
    ) -> None:
        self._writer = writer
        self._cls = cls
        self._where = where
        self._known = known
        self._how = how
        self._draft = Draft(writer.schema.entity(cls).codec)

    @property
    def result(self) -> E:
        """The object that was asked for with `returning`."""
        if not self._done or not self._how["returning"]:
            raise TableError('the result of an update is there when it is done, and asked for with returning="new"')
        return cast("E", self._result)

    def _applied(self) -> Any:
        return self._writer.apply(self._cls, changes_of(self._draft), where=self._where, **self._how, **self._known)


class Updating(_Update[E]):
    """An update being written: what is assigned inside the `with` is one UpdateItem at its end."""

    def __enter__(self) -> E:
        return cast("E", self._draft)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = self._applied()
            self._done = True


class AsyncUpdating(_Update[E]):
    """An update being written: what is assigned inside the `async with` is one UpdateItem at its end."""

    async def __aenter__(self) -> E:
        return cast("E", self._draft)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = await self._applied()
            self._done = True
