"""A design that somebody wrote: `check`, `query` and `build` agree about it, and no build replaces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin

DOCUMENT = """\
# Blog

## Entities

### Post

- **Attributes**:
  - `postId` (uuid, generated)
  - `userId` (uuid, immutable)
  - `commentCount` (integer, mutable)

### Comment

- **Attributes**:
  - `commentId` (ulid, generated)
  - `postId` (uuid, immutable, → Post)
  - `userId` (uuid, immutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Comment | Comments of a post | postId | Collection |
| AP-002 | Comment | Some comments | commentId[], postId | Collection |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Comment, Post | Comment | commentId, postId, userId | create Comment; update Post (commentCount += 1) | Yes | - |
| AP-011 | Post | Publish | postId, userId, commentCount | create Post | No | - |
"""
DESIGN = """\
# Blog: table design

> Access patterns: access-patterns.md

## Table Configuration

| Setting | Value |
| --- | --- |
| Table name | `blog` |
| Partition key | `pk` (S) |
| Sort key | `sk` (S) |

## Keys

### Post

| Table or Index | Partition Key | Sort Key |
| --- | --- | --- |
| table | `USER#{userId}` | `POST#{postId}` |

### Comment

| Table or Index | Partition Key | Sort Key |
| --- | --- | --- |
| table | `POST#{postId}` | `COMMENT#{commentId}` |
"""


@pytest.fixture
def blog(here: Path) -> Path:
    """A document, and a design for it whose key of a post has an attribute that AP-010 does not give."""
    (here / "access-patterns.md").write_text(DOCUMENT, "utf-8")
    (here / "table-design.md").write_text(DESIGN, "utf-8")
    return here


@pytest.mark.usefixtures("blog")
def test_check_and_query_refuse_the_same_pattern(prejoin: Prejoin) -> None:
    checked = prejoin("check", "table-design.md")
    assert checked.status == 1
    assert "error PJ564: AP-010 writes Post without `userId` of its key" in checked.err + checked.out
    queried = prejoin("query", "AP-010")
    assert queried.status != 0
    assert "error PJ564: AP-010 writes Post without `userId` of its key" in queried.err
    assert "AP-010 was not run" in queried.err
    assert prejoin("query", "AP-001").status == 0, "the design has no error about other patterns"


def test_a_build_does_not_replace_it(prejoin: Prejoin, blog: Path) -> None:
    ran = prejoin("build", "--yes", "--no-tests")
    assert ran.status == 1
    assert "its keys or settings were written by hand" in ran.err
    assert "or delete it" in ran.err
    assert (blog / "table-design.md").read_text("utf-8") == DESIGN
    assert [path.name for path in blog.iterdir() if path.suffix == ".py" or path.is_dir()] == []


@pytest.mark.slow
def test_a_build_writes_its_design_if_it_is_deleted(prejoin: Prejoin, blog: Path) -> None:
    (blog / "table-design.md").unlink()
    assert prejoin("build", "--yes", "--no-tests").status == 0
    text = (blog / "table-design.md").read_text("utf-8")
    assert "a key for each `commentId`, up to 100 in a request" in text
    assert "each `commentId` a request" not in text
