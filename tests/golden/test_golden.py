"""Each document becomes the same files as before, unless somebody meant to change them."""

from __future__ import annotations

import pytest

from tests.golden import (
    DOCUMENTS,
    EVERYDAY,
    STORED,
    differences,
    digest,
    digests_of,
    read_digests,
    read_stored,
    rendered_files,
)

RENEW = "if you meant it, renew them: python -m tests.golden --write"
EACH_DOCUMENT = [
    pytest.param(document, marks=() if document in EVERYDAY else pytest.mark.slow, id=document)
    for document in DOCUMENTS
]


@pytest.mark.parametrize("document", EACH_DOCUMENT)
def test_files_are_as_before(document: str) -> None:
    files = rendered_files(document)
    if document in STORED:
        assert files == read_stored(document), RENEW
    before = {name: value for name, value in read_digests().items() if name.startswith(f"{document}/")}
    assert differences(before, digests_of(document, files)) == [], RENEW


def test_digests_are_of_the_documents_and_of_the_stored_files() -> None:
    """No digest is left of a document that is gone, and both forms are renewed together."""
    digests = read_digests()
    assert {name.partition("/")[0] for name in digests} == set(DOCUMENTS)
    assert set(STORED) <= EVERYDAY <= set(DOCUMENTS)
    for document in STORED:
        for name, text in read_stored(document).items():
            assert digests[f"{document}/{name}"] == digest(text)


def test_a_difference_is_named() -> None:
    before = {"a/keys.md": "1", "a/old.py": "2", "a/same.py": "3"}
    after = {"a/keys.md": "9", "a/new.py": "4", "a/same.py": "3"}
    assert differences(before, after) == ["changed a/keys.md", "new a/new.py", "removed a/old.py"]
