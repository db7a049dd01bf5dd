"""Runs the guide's examples, with a local server in place of AWS."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.engine.http import Server

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "transport.md"


def test_the_examples_of_the_guide_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    answers = []
    with Embedded() as engine, Server(engine, port=0) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)
        for block in blocks:
            exec(block, names)
            answers.append(names.pop("answer", None))
    assert answers == [None, b'{"TableNames":[]}', b'{"TableNames":[]}', None]
