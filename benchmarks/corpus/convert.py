"""Converts corpus files to workloads, and folders of them to documents: `convert_folder(folder, out)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from corpus.entities import convert_entities
from corpus.reads import convert_read, read_together
from corpus.source import CorpusError, Fields, in_words, load
from corpus.writes import changed_attributes, convert_write, is_delete
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload.document.write_document import UnwritableError, write_document
from prejoin.workload.files import read_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import read_tenant
from prejoin.workload.model import Context, Decision, Entity, OutOfScope, Read, Uniqueness, Workload, Write
from prejoin.workload.tenants import expand

DOCUMENT = "access-patterns.md"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z")
_NOT_THE_WORKLOAD = ("expert_solution", "observations")
"""The expert's solution and remarks on it. They are for comparison, and not part of the document."""


def convert(fields: Fields) -> Workload:
    """The workload of a corpus file."""
    entries = fields.entries("access_patterns", "id")
    attributes = {str(e.data.get("name")): _attribute_names(e) for e in fields.entries("entities", "name")}
    entities = convert_entities(
        fields.entries("entities", "name"), changed_attributes(entries, attributes), read_together(entries)
    )
    if not entities:
        raise fields.error("entities", "is missing")
    _once(fields, "entities", [e.name for e in entities])
    workload = Workload(
        title=fields.words("title") or fields.words("name"),
        context=_context(fields),
        entities=entities,
        notes=_sentences(fields.words("notes")),
    )
    reads: list[Read] = []
    writes: list[Write] = []
    deletes: list[Write] = []
    decisions: list[Decision] = []
    for entry in entries:
        if not entry.word("id"):
            raise entry.error("id", "is missing")
        if entry.flag("out_of_scope") or _elsewhere(entry):
            decisions.append(Decision(OutOfScope(entry.word("id"))))
        kind = entry.word("kind") or "read"
        if kind == "read":
            reads.append(convert_read(entry, workload))
        elif kind in {"write", "create", "put", "update", "delete"}:
            (deletes if is_delete(entry) else writes).append(convert_write(entry, workload))
        else:
            raise entry.error("kind", f"`{kind}` is not read or write")
    _once(fields, "access_patterns", [entry.word("id") for entry in entries])
    converted = msgspec.structs.replace(
        workload,
        entities=_unique(entities, (*writes, *deletes)),
        reads=tuple(reads),
        writes=tuple(writes),
        deletes=tuple(deletes),
        decisions=tuple(decisions),
        header=_header(fields),
    )
    return expand(converted)


def _context(fields: Fields) -> Context | None:
    """The tenant, in the document's grammar: `tenantId → Company, except Plan`."""
    text = fields.words("tenant")
    try:
        return Context(tenant=read_tenant(text)) if text else None
    except Inexact as problem:
        raise fields.error("tenant", problem.message) from problem


def _elsewhere(entry: Fields) -> bool:
    """Whether the source says that another table serves it: `bonus challenge on the archive table`."""
    stated = in_words(entry.data.get("stated"))
    return (
        re.search(r"\b(?:on|in|from) (?:the|an?|an?other) (?!main|base|same|one|single)\w+ table\b", stated) is not None
    )


def _attribute_names(entity: Fields) -> tuple[str, ...]:
    value = entity.data.get("attributes")
    return tuple(str(name) for name in value) if isinstance(value, dict | list) else ()


def _once(fields: Fields, field: str, names: list[str]) -> None:
    twice = next((n for at, n in enumerate(names) if n in names[:at]), None)
    if twice is not None:
        raise fields.error(field, f"`{twice}` is there twice")


def _unique(entities: tuple[Entity, ...], writes: tuple[Write, ...]) -> tuple[Entity, ...]:
    """Marks attributes as unique that a write requires to be unique."""
    demanded = {
        (check.entity or write.entities[0], check.attribute)
        for write in writes
        for check in write.checks
        if isinstance(check, Uniqueness)
    }
    return tuple(
        msgspec.structs.replace(
            e,
            attributes=tuple(
                msgspec.structs.replace(a, unique=True) if (e.name, a.name) in demanded and e.id != (a,) else a
                for a in e.attributes
            ),
        )
        for e in entities
    )


def _header(fields: Fields) -> dict[str, str]:
    header = {"Source": "; ".join(filter(None, map(in_words, _listed(fields.get("source")))))}
    header |= {name.capitalize(): fields.words(name) for name in ("author", "kind", "quality")}
    for name in ("name", *_NOT_THE_WORKLOAD):
        fields.get(name)
    rest = {re.sub(r"[^\w \-]", " ", name): text for name, text in fields.rest().items()}
    return {name: text for name, text in (header | rest).items() if text}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _sentences(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."


# --- Folders ----------------------------------------------------------------------------------------------------------


def convert_file(path: Path) -> tuple[str, Workload, str]:
    """The name, the workload and the document of a corpus file."""
    fields = load(path)
    name = fields.word("name") or path.stem
    if not _NAME.match(name):
        raise fields.error("name", f"`{name}` cannot name a folder; use letters, digits, `_` and `-`")
    workload = convert(fields)
    try:
        return name, workload, write_document(workload)
    except UnwritableError as problem:
        raise CorpusError(f"{path.name}: {problem}") from problem


def convert_folder(folder: Path, out: Path, say: Callable[[str], None]) -> bool:
    """Writes `OUT/NAME/access-patterns.md` for each corpus file; False if some could not be converted."""
    paths = sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"}) if folder.is_dir() else []
    if not paths:
        say(f"{folder}: holds no corpus files (*.yaml)")
        return False
    well = True
    taken: dict[str, Path] = {}
    for path in paths:
        try:
            name, workload, document = convert_file(path)
            if name.lower() in taken:
                raise CorpusError(f"{path.name}: name: `{name}` is taken by {taken[name.lower()].name}")
        except CorpusError as problem:
            say(f"error: {problem}")
            well = False
            continue
        taken[name.lower()] = path
        target = out / name / DOCUMENT
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(document, encoding="utf-8", newline="\n")
        say(f"{name}: {len(workload.entities)} entities, {len(workload.patterns)} patterns")
        for remark in remarks(document):
            say(f"  {remark.severity.value} {remark.code} line {remark.line}: {remark.message}")
    return well


def remarks(document: str) -> Iterator[Diagnostic]:
    """The errors and warnings of a document, which are about the source, not the conversion."""
    yield from (d for d in read_text(document, "md").diagnostics if d.severity is not Severity.HINT)
