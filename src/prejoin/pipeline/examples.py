"""The example documents: inside an installed package, or at the root of the repository."""

from __future__ import annotations

from pathlib import Path

import prejoin
from prejoin.pipeline.document import DOCUMENT


def folder() -> Path:
    """The folder of the examples."""
    package = Path(prejoin.__file__).parent
    inside = package / "examples"
    return inside if inside.exists() else package.parents[1] / "examples"


def names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in folder().glob(f"*/{DOCUMENT}")))


def installed() -> bool:
    """Whether they are inside an installed package, where they must not be changed."""
    return folder().parent == Path(prejoin.__file__).parent
