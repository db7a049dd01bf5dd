"""YAML and JSON as plain values, with the place of each: whatever the text, in bounded time and depth."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
import yaml

from prejoin.diagnostics import Span

Form = Literal["yaml", "json"]
Path = tuple[str | int, ...]
_DEEPEST = 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WAY = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class NotATreeError(ValueError):
    """The text is not YAML or JSON, or more than what JSON can say. `span` is where."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span or Span(1, 1)


def read_tree(source: str, form: Form) -> tuple[Any, dict[Path, Span]]:
    """The values in a text, and where each stands, by the names that the models use."""
    try:
        # YAML holds JSON, but for tabs, which JSON allows between its tokens only.
        plain, spans = _Tree().build(source.replace("\t", " ") if form == "json" else source)
        return (msgspec.json.decode(source.encode()) if form == "json" else plain), spans
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        last = source.count("\n") + 1  # where the text ends too early, the parser names the line after it
        where = Span(min(mark.line + 1, last), mark.column + 1) if mark else None
        raise NotATreeError(str(problem.problem or problem.context), where) from None
    except (yaml.YAMLError, msgspec.DecodeError, UnicodeError) as problem:
        raise NotATreeError(" ".join(str(problem).split())) from None


def write_tree(plain: Any, form: Form) -> str:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
    text: str = yaml.dump(plain, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=110)
    return text


def convert_tree(plain: Any, spans: dict[Path, Span], kind: type[Any]) -> Any:
    """The model that plain values are, or NotATreeError with the place of what does not fit."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as problem:
        message, _, way = str(problem).partition(" - at `")
        path = tuple(int(index) if index.isdigit() else _field(name or index) for name, index in _WAY.findall(way))
        span = next((spans[path[:n]] for n in range(len(path), 0, -1) if path[:n] in spans), None)
        raise NotATreeError(message[:1].lower() + message[1:] + (f", at `{way}" if way else ""), span) from None


def _field(name: str) -> str:
    """The model's name of a key: `copyOf` is `copy_of` there."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), name)


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
            raise NotATreeError("it is empty")
        if len(self.root) > 1:
            raise NotATreeError("it holds more than one document")
        return self.root[0], self.spans

    def _event(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise NotATreeError("aliases are not allowed")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self.stack) >= _DEEPEST:
                raise NotATreeError(f"it is nested more than {_DEEPEST} deep")
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
                raise NotATreeError("a key is not a word")
            if value in node:
                raise NotATreeError(f"the key `{value}` stands twice in one place")
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
