"""Documents with their designs, and generated repositories on a table with sample data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from tests.proof.league import NOW, league_design, league_workload
from tests.render.designed import NAMES as PUBLIC
from tests.render.designed import designed as public
from tests.solutions import solve

from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python import Options
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[3]
DOCUMENTS = {
    **{path.parent.name: path for path in sorted(ROOT.glob("examples/*/access-patterns.md"))},
    **{path.parent.name: path for path in sorted(ROOT.glob("tests/corpus/*/access-patterns.md"))},
    **{path.stem: path for path in sorted(Path(__file__).with_name("documents").glob("*.md"))},
    "market": ROOT / "tests/proof/market.md",
}
"""Examples, published designs, documents of this folder for other constructs, and the one with all kinds of writes."""
NAMES = [*DOCUMENTS, "league"]


@cache
def designed(name: str) -> tuple[Workload, Design]:
    """A document and its design; that of the league is written by hand."""
    if name == "league":
        return league_workload(), league_design()
    if name in PUBLIC:
        return public(name)
    workload = read_file(DOCUMENTS[name]).workload
    return workload, solve(workload).design


def written(files: Mapping[PurePosixPath, str], folder: Path, beside: str = "") -> None:
    """Writes generated files into a folder; with `beside`, all of them, also tests, into the package of that name."""
    for path, text in files.items():
        place = folder / (PurePosixPath(beside) / path.name if beside else path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def proven(workload: Workload, design: Design, options: Options | None = None) -> Proof:
    with Embedded() as engine:
        return prove(workload, design, engine, now=NOW, options=options)


def unproven(proof: Proof) -> list[tuple[str, str, str]]:
    """The served patterns that are not proven, and other problems that the proof found."""
    failed = [(a.pattern, a.wrong, a.problem) for a in proof.failed]
    return [*failed, *(("", finding, "") for finding in proof.findings)]


@dataclass(frozen=True, slots=True)
class Driver:
    """A generated repository on a table with sample data."""

    sample: SampleTable
    repository: Any

    def record(self, entity: str, **known: object) -> Any:
        """A new object with these values of attributes."""
        found = self.sample.generator.another(self.sample.entity(entity), known)
        assert found is not None
        return self.sample.package.record(entity, found)

    def get(self, entity: str, **key: Any) -> Any:
        return self.sample.client.get(self.sample.package.classes[entity], **key)


@contextmanager
def driven(workload: Workload, design: Design) -> Iterator[Driver]:
    with Embedded() as engine:
        sample = SampleTable.create(workload, design, engine, NOW)
        yield Driver(sample, sample.package.repository(sample.client))
