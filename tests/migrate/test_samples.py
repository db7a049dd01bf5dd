"""Well-known schemas, each discovered, designed, loaded, verified and queried."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin import (
    Severity,
    TablePlace,
    design_table,
    design_target,
    discover_database,
    load_table,
    open_migration,
    read_document,
    verify_table,
    write_design,
)
from tests.migrate.samples import SAMPLES, Sample, create_sample

PLACE = TablePlace(db="table.db")


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_sample_is_moved_whole(sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create_sample(sample, tmp_path / "sample.db")
    Path("app.sql").write_text(sample.queries, encoding="utf-8")
    found = discover_database("sqlite:///sample.db", queries=["app.sql"])
    assert found.unread == ()
    Path("access-patterns.md").write_text(found.document, encoding="utf-8")
    Path("mapping.toml").write_text('zone = "UTC"\n' + found.mapping_text, encoding="utf-8")
    document = read_document("access-patterns.md")
    assert [d.message for d in document.diagnostics if d.severity is Severity.ERROR] == []
    designed = design_table(document, alternatives=0)
    assert [d.message for d in designed.diagnostics if d.severity is Severity.ERROR] == []
    write_design(designed, design_target(Path("table-design.md")))
    with open_migration() as migration:
        loaded = load_table(migration, PLACE, create=True)
        assert loaded.dead == 0
        assert loaded.rows > 100
        compared = verify_table(migration, PLACE)
    assert compared.equal, compared.differences[:3]
    assert sum(bool(one.runs) for one in compared.patterns) >= 5
