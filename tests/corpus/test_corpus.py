"""The converted corpus: every document is free of errors, in canonical form, and complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin.diagnostics import Severity
from prejoin.workload.document import tables
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_file
from prejoin.workload.model import Combine, Read, Workload

DOCUMENTS = sorted(Path(__file__).parent.glob("*/access-patterns.md"))
PATTERNS = {
    "aws_bank_payments": 6,
    "aws_bookmarks": 4,
    "aws_device_status": 7,
    "aws_gaming_profile": 6,
    "aws_invoices_bills": 3,
    "aws_online_shop": 16,
    "aws_retail_cart": 7,
    "aws_session_management": 8,
    "aws_ski_resort": 5,
    "aws_social_network": 9,
    "debrie_ecommerce": 8,
    "debrie_instagram": 12,
    "debrie_session_store": 4,
    "electrodb_library": 17,
    "electrodb_shopping_mall": 11,
    "houlihan_flight_fares": 9,
    "nose_eac": 9,
    "nose_ebay": 7,
    "onetable_overview": 11,
    "seed_music_ranking": 16,
}


def named(path: Path) -> str:
    return path.parent.name


def read(name: str) -> Workload:
    return read_file(Path(__file__).parent / name / "access-patterns.md").workload


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_a_converted_document_reads_without_an_error(path: Path) -> None:
    errors = [d for d in read_file(path).diagnostics if d.severity is Severity.ERROR]
    assert errors == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_a_converted_document_is_in_canonical_form(path: Path) -> None:
    assert write_document(read_file(path).workload) == path.read_text("utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_nothing_in_a_known_column_or_label_is_left_as_prose(path: Path) -> None:
    workload = read_file(path).workload
    columns = [column for kind in tables.PATTERN_TABLES for column in kind.columns]
    known = {column.name for column in (*columns, *tables.ENTITY_LABELS)}
    assert [p.id for p in workload.patterns if known & set(p.verbatim)] == []
    assert [e.name for e in workload.entities if known & set(e.verbatim)] == []


@pytest.mark.slow
def test_no_pattern_of_the_corpus_is_lost() -> None:
    assert {named(path): len(read_file(path).workload.patterns) for path in DOCUMENTS} == PATTERNS


@pytest.mark.slow
def test_followers_with_their_profiles_are_a_join_and_an_order_with_its_items_is_a_collection() -> None:
    combined = {
        (name, p.id): p.combine
        for name in PATTERNS
        for p in read(name).reads
        if isinstance(p, Read) and len(p.entities) > 1
    }
    joins = {key for key, combine in combined.items() if combine is Combine.JOIN}
    assert joins == {
        ("debrie_instagram", "AP11"),
        ("debrie_instagram", "AP12"),
        ("nose_ebay", "AP3"),
        ("nose_ebay", "AP4"),
    }
    assert set(combined.values()) == {Combine.JOIN, Combine.COLLECTION}
