"""Update blocks: the assignments inside a `with` block are sent as one UpdateItem at its end."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from prejoin.table.condition.record import Where
from prejoin.table.errors import TableError
from prejoin.table.update.draft import Draft, changes_of, close

E = TypeVar("E")


def warn_never_entered(call: str) -> None:
    """Warn of a block that was made and dropped, as Python warns of a coroutine that was never awaited."""
    import warnings  # only here: a warning is rare

    # The caller of __del__ is the code that dropped the block.
    warnings.warn(
        f"{call} wrote nothing, because it was never entered: use `with {call}`", RuntimeWarning, stacklevel=3
    )


class _UpdateBase(Generic[E]):
    """The common part of sync and async update blocks: the draft, and what is sent at the end."""

    _result: E | None = None
    _is_entered = True  # unless it could be made
    _is_done = False

    def __init__(
        self, writer: Any, cls: type[E], where: Where[E] | None, known: Mapping[str, Any], how: Mapping[str, Any]
    ) -> None:
        self._writer = writer
        self._cls = cls
        self._where = where
        self._known = known
        self._how = how
        self._draft = Draft(writer.schema.entity(cls).codec)
        self._is_entered = False

    @property
    def result(self) -> E:
        """The object that `returning` requests."""
        if not self._is_done or not self._how["returning"]:
            raise TableError('an update has a result after its block, if it is requested with returning="new"')
        return cast("E", self._result)

    def _apply_changes(self) -> Any:
        return self._writer.apply(self._cls, changes_of(self._draft), where=self._where, **self._how, **self._known)

    def __del__(self) -> None:
        if not self._is_entered:
            warn_never_entered(f"db.update({self._cls.__name__}, …)")

    def _begin(self) -> Any:
        self._is_entered = True
        if self._draft._record.closed:
            self._draft._record.open()
        return self._draft


class UpdateBlock(_UpdateBase[E]):
    """An update block: the assignments inside the `with` block are sent as one UpdateItem at its end."""

    def __enter__(self) -> E:
        return self._begin()  # type: ignore[no-any-return]

    if not TYPE_CHECKING:  # type checkers refuse `async with` by themselves

        async def __aenter__(self) -> NoReturn:
            self._is_entered = True
            raise TypeError("this is not an AsyncClient: write `with db.update(…)`, without async")

        async def __aexit__(self, *_: object) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = self._apply_changes()
            self._is_done = True
        else:
            close(self._draft)


class AsyncUpdateBlock(_UpdateBase[E]):
    """An update block: the assignments inside the `async with` block are sent as one UpdateItem at its end."""

    async def __aenter__(self) -> E:
        return self._begin()  # type: ignore[no-any-return]

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            self._is_entered = True
            raise TypeError("this is an AsyncClient: write `async with db.update(…)`")

        def __exit__(self, *_: object) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = await self._apply_changes()
            self._is_done = True
        else:
            close(self._draft)
