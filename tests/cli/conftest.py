"""Fixtures that run the command in this process, and capture its outputs and status."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prejoin.cli.run import run
from tests.solutions import solved_once as solved_once


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.out))


Prejoin = Callable[..., Ran]


@pytest.fixture
def prejoin(monkeypatch: pytest.MonkeyPatch) -> Prejoin:
    """Runs a command: `prejoin("check", "a.md", stdin=b"…")`."""

    def call(*arguments: object, stdin: bytes = b"") -> Ran:
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            status = run([str(a) for a in arguments])
        texts = []
        for stream in streams.values():
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return Ran(status, *texts)

    return call


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREJOIN_DEBUG", raising=False)
    return tmp_path


WRONG = """# Shop

## Entities

### User

- **Attributes**:
  - `userId` (uuid, id)
  - `email` (strng, unique)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Usr | Get a user | userId | Single |
"""


@pytest.fixture
def wrong(here: Path) -> Path:
    """A document with two errors."""
    path = here / "wrong.md"
    path.write_text(WRONG, encoding="utf-8")
    return path
