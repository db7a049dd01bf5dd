"""The commands of the guide work, and it names all files."""

from __future__ import annotations

import re

from prejoin.pipeline.build.settings import read_settings
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.infrastructure.policies import policies_of

from .documents import ROOT, SHOP, designed

GUIDE = ROOT / "docs" / "guides" / "infrastructure.md"


def test_guide_shows_the_policies_of_its_roles() -> None:
    workload, design = designed(SHOP)
    roles = (Role("shelf", ("AP-010",)), Role("checkout", ("AP-010", "AP-022")))
    lines = []
    for policy in policies_of(workload, design, Infrastructure(roles=roles)):
        lines.append(policy.text)
        for statement in policy.statements:
            keys = statement.condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
            words = [*statement.actions, "on", *statement.places, "where the partition is", *keys]
            lines.append("   " + " ".join(words))
    (shown,) = re.findall(r"```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown.splitlines() == lines


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
