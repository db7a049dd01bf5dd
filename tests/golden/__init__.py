"""Golden files: what prejoin makes of the documents of the repository, byte for byte.

`digests.txt` has a digest of each file that is made of each document. Of three small documents, the folders beside it
have the files themselves, so that a difference can be read. `python -m tests.golden --write` renews both, and prints
which files changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from prejoin.design.document.write_document import write_document
from prejoin.design.explain import annotate, explain
from prejoin.design.explain.text import as_text
from prejoin.render.documents.render_documents import render_documents
from prejoin.render.python.package import render_python
from prejoin.workload.files import read_file
from tests.conftest import REPRESENTATIVE
from tests.solutions import solve

GOLDEN = Path(__file__).parent
ROOT = GOLDEN.parents[1]
DIGESTS = GOLDEN / "digests.txt"
SUFFIX = ".golden"
"""The end of stored files, so that no tool takes them for code or tests of ours."""

STORED = ("small", "debrie_session_store", "aws_retail_cart")
"""The documents whose files are stored as they are."""

EXAMPLES = tuple(sorted(ROOT.glob("examples/*/access-patterns.md")))
CORPUS = tuple(sorted(ROOT.glob("tests/corpus/*/access-patterns.md")))
GENERATED_CODE = tuple(sorted(ROOT.glob("tests/render/python/documents/*.md")))
"""The documents with the corner cases of generated code."""


def document_name(path: Path) -> str:
    """`shop` for `examples/shop/access-patterns.md`, `odd` for `odd.md`."""
    return path.parent.name if path.name == "access-patterns.md" else path.stem


DOCUMENTS: Mapping[str, Path] = {
    document_name(path): path for path in (ROOT / "tests" / "small.md", *EXAMPLES, *CORPUS, *GENERATED_CODE)
}
EVERYDAY = frozenset({"small"} | REPRESENTATIVE | {document_name(path) for path in EXAMPLES})
"""The documents that are compared in the everyday tier; the others are slow."""


def rendered_files(document: str) -> dict[str, str]:
    """The text of each file that is made of a document, by its name.

    The design is explained without alternatives, which would be solved again.
    """
    workload = read_file(DOCUMENTS[document]).workload
    solution = solve(workload)
    explanation = explain(workload, solution)
    design = annotate(solution.design, explanation)
    files = {
        "explanation.txt": "\n".join(as_text(explanation)) + "\n",
        "table-design.md": write_document(design, workload),
    }
    for path, text in (*render_documents(workload, design).items(), *render_python(workload, design).items()):
        files[str(path)] = text
    return files


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digests_of(document: str, files: Mapping[str, str]) -> dict[str, str]:
    """The digest of each file of a document, by `document/file`."""
    return {f"{document}/{name}": digest(text) for name, text in files.items()}


def read_digests() -> dict[str, str]:
    """The stored digests, by `document/file`."""
    digests = {}
    for line in DIGESTS.read_text("utf-8").splitlines():
        value, _, name = line.partition("  ")
        digests[name] = value
    return digests


def write_digests(digests: Mapping[str, str]) -> None:
    lines = [f"{value}  {name}\n" for name, value in sorted(digests.items())]
    DIGESTS.write_text("".join(lines), "utf-8")


def read_stored(document: str) -> dict[str, str]:
    """The stored files of a document, by their names."""
    folder = GOLDEN / document
    stored = {}
    for path in folder.rglob(f"*{SUFFIX}"):
        name = path.relative_to(folder).as_posix().removesuffix(SUFFIX)
        stored[name] = path.read_bytes().decode("utf-8")
    return stored


def write_stored(document: str, files: Mapping[str, str]) -> None:
    """Writes the files of a document, and deletes those that are not made any more."""
    folder = GOLDEN / document
    for name in read_stored(document).keys() - files.keys():
        (folder / f"{name}{SUFFIX}").unlink()
    for name, text in files.items():
        path = folder / f"{name}{SUFFIX}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The names whose texts or digests differ, each with how: `changed shop/table-design.md`."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            lines.append(f"removed {name}")
        elif name not in before:
            lines.append(f"new {name}")
        elif before[name] != after[name]:
            lines.append(f"changed {name}")
    return lines
