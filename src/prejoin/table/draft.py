"""An update written as assignments and recorded: `p.stock -= 1`, `p.note = None`, `p.views = add(p.views, 1)`."""

from __future__ import annotations

from typing import Any

from .codec import Codec
from .errors import TableError
from .expressions import Arithmetic, Path
from .writes import Changes


class Draft:
    """Stands for an entity in an update: what is assigned to its attributes is recorded."""

    _codec: Codec[Any]
    _sets: dict[str, Any]
    _adds: dict[str, Any]

    def __init__(self, codec: Codec[Any]) -> None:
        object.__setattr__(self, "_codec", codec)
        object.__setattr__(self, "_sets", {})
        object.__setattr__(self, "_adds", {})

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._sets or name in self._adds:
            raise TableError(f"{name} has been changed in this update already; its new value is not here to be read")
        return Path(self._codec.attribute(name).name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._codec.attribute(name)
        if isinstance(value, Path):
            raise TableError(f"{name} cannot be set to another attribute")
        if isinstance(value, Arithmetic) and value.from_zero:
            if value.path != (name,):
                raise TableError(f"{name} cannot be set to a sum of {'.'.join(value.path)} from 0")
            self._adds[name] = value.amount
        else:
            self._sets[name] = value

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)


def changes_of(draft: Draft) -> Changes:
    """What has been recorded."""
    state = vars(draft)
    return Changes(dict(state["_sets"]), dict(state["_adds"]))
