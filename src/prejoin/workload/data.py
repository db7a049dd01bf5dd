"""The workload as YAML and JSON: the same model, the same checks, and the JSON Schema it is published with."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
import yaml

from prejoin.diagnostics import Span
from prejoin.workload import codes
from prejoin.workload.markdown import Text
from prejoin.workload.model import Workload
from prejoin.workload.reading import Notes, Path, Reading

Form = Literal["yaml", "json"]
SCHEMA_ID = "urn:prejoin:workload:1"
_DEEPEST = 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WAY = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_FIX = "compare with the JSON Schema (`prejoin schema`), or with a document turned into YAML (`prejoin convert`)"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a workload in YAML or JSON."""
    schema = msgspec.json.schema(Workload)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "prejoin workload",
        "description": "Entities and access patterns: what an application stores and asks.",
        **schema,
    }


def write_data(workload: Workload, form: Form) -> str:
    plain = msgspec.to_builtins(workload, str_keys=True)
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
    text: str = yaml.dump(plain, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=110)
    return text


def read_data(source: str, form: Form) -> Reading:
    """The workload in a YAML or JSON text; a message where it is not one."""
    notes = Notes()
    try:
        # YAML holds JSON, but for tabs, which JSON allows between its tokens only.
        plain, spans = _Tree().build(source.replace("\t", " ") if form == "json" else source)
        notes.places.spans.update(spans)
        if form == "json":
            plain = msgspec.json.decode(source.encode("utf-8", "surrogatepass"))
        workload = msgspec.convert(plain, Workload)
        return Reading(workload, (), notes.places)
    except msgspec.ValidationError as problem:
        message, _, way = str(problem).partition(" - at `")
        span = notes.places.find(_path(way)) or Span(1, 1)
        message = f"{message[:1].lower()}{message[1:]}" + (f", at `{way}" if way else "")
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        span = Span(mark.line + 1, mark.column + 1) if mark else Span(1, 1)
        message = f"this is not {form.upper()}: {problem.problem or problem.context}"
    except (yaml.YAMLError, msgspec.DecodeError, UnicodeError, _NotATreeError) as problem:
        span, message = Span(1, 1), f"this is not {form.upper()}: {' '.join(str(problem).split())}"
    notes.say(codes.DATA, Text(span.text, span.line, span.column), message, _FIX)
    return Reading(Workload(), tuple(notes.diagnostics), notes.places)


def _path(way: str) -> Path:
    """The model's path for msgspec's: `$.reads[0].inputs`."""
    return tuple(int(index) if index.isdigit() else _field(name or index) for name, index in _WAY.findall(way))


def _field(name: str) -> str:
    """The model's name of a key: `copyOf` is `copy_of` there."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), name)


class _NotATreeError(ValueError):
    pass


class _Tree:
    """Plain values from YAML events, without recursion, with the place of each value.

    Only what JSON can say too: no aliases (a few of them expand without end), no tags, no dates or octal numbers.
    """

    def __init__(self) -> None:
        self.spans: dict[Path, Span] = {}
        self.stack: list[tuple[Path, Any, list[Any]]] = []
        self.root: list[Any] = []

    def build(self, source: str) -> tuple[Any, dict[Path, Span]]:
        loader = _LOADER(source)
        try:
            while True:
                event = loader.get_event()
                if isinstance(event, yaml.StreamEndEvent):
                    break
                self._event(event)
        finally:
            loader.dispose()
        if not self.root:
            raise _NotATreeError("it is empty")
        if len(self.root) > 1:
            raise _NotATreeError("it holds more than one document")
        return self.root[0], self.spans

    def _event(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise _NotATreeError("aliases are not allowed")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self.stack) >= _DEEPEST:
                raise _NotATreeError(f"it is nested more than {_DEEPEST} deep")
            node: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.stack.append((self._place(event), node, []))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            _, node, _ = self.stack.pop()
            self._add(node)
        elif isinstance(event, yaml.ScalarEvent):
            self._place(event)
            self._add(event.value if not event.implicit[0] else _scalar(event.value))

    def _place(self, event: Any) -> Path:
        """Where the value that begins here is in the tree; noted with its line and column."""
        path: Path = ()
        if self.stack:
            above, node, keys = self.stack[-1]
            step = len(node) if isinstance(node, list) else _field(str(keys[0])) if keys else ""
            path = (*above, step)
        if path and path[-1] != "":
            mark = event.start_mark
            self.spans[path] = Span(mark.line + 1, mark.column + 1, getattr(event, "value", "")[:80])
        return path

    def _add(self, value: Any) -> None:
        if not self.stack:
            self.root.append(value)
            return
        _, node, keys = self.stack[-1]
        if isinstance(node, list):
            node.append(value)
        elif not keys:
            if not isinstance(value, str):
                raise _NotATreeError("a key is not a word")
            if value in node:
                raise _NotATreeError(f"the key `{value}` stands twice in one place")
            keys.append(value)
        else:
            node[keys.pop()] = value


def _scalar(text: str) -> object:
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if re.fullmatch(r"[-+]?\d{1,18}", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"[-+]?\d{1,18}\.\d{1,18}", text, re.ASCII):
        return float(text)
    return text
