"""The guide does what it shows, and names what there is."""

from __future__ import annotations

import doctest
import re

import pytest

from prejoin.pipeline.build.settings import read_settings
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.infrastructure.options import Infrastructure

from .documents import ROOT, SHOP, designed

GUIDE = ROOT / "docs" / "guides" / "infrastructure.md"


def test_the_guide_does_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert done.attempted > 10
    assert done.failed == 0


def test_the_guide_names_every_option_and_file() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for option in Infrastructure.__struct_fields__:
        name = option.replace("_", "-")
        assert f"`{name}`" in text or f"[{name}]" in text, option
    (settings,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert read_settings(settings).diagnostics == ()
    workload, design = designed(SHOP)
    for render in LANGUAGES.values():
        for path in render(workload, design, Infrastructure()):
            assert f"`{path}`" in text or f"`{path.name}`" in text, path
