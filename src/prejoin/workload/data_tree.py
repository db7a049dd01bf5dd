"""Reads YAML and JSON into plain values with their places, in bounded time and depth for any text."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
import yaml

from prejoin.diagnostics import Span

TreeForm = Literal["yaml", "json"]
Path = tuple[str | int, ...]
_DEEPEST = 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_JSON_TOKEN = re.compile(r'[{}\[\]]|"[^"\\]*+(?:\\.[^"\\]*+)*"?|[^\s{}\[\],:"]+', re.DOTALL)
_WAY = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class NotATreeError(ValueError):
    """The text is not YAML or JSON, or uses more of YAML than JSON has. `span` is the place."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span or Span(1, 1)


def read_tree(source: str, form: TreeForm) -> tuple[Any, dict[Path, Span]]:
    """The values in a text, and their places by the field names of the models."""
    return _read_json(source) if form == "json" else _read_yaml(source)


def _read_yaml(source: str) -> tuple[Any, dict[Path, Span]]:
    tree = _Tree()
    try:
        loader = _LOADER(source)
        try:
            while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
                _follow(tree, event)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        last_line = source.count("\n") + 1  # at an early end of the text the parser names the line after it
        span = Span(min(mark.line + 1, last_line), mark.column + 1) if mark else None
        raise NotATreeError(str(problem.problem or problem.context), span) from None
    except (yaml.YAMLError, UnicodeError) as problem:
        raise NotATreeError(" ".join(str(problem).split())) from None
    if len(tree.root) != 1:
        raise NotATreeError("it holds more than one document" if tree.root else "it is empty")
    return tree.root[0], tree.spans


def _follow(tree: _Tree, event: Any) -> None:
    """Handle one event of the YAML parser. Only what JSON has, too: no aliases, which expand without end, and no
    dates.
    """
    mark = event.start_mark
    span = Span(mark.line + 1, mark.column + 1, getattr(event, "value", None) or "") if mark else Span(1, 1)
    match event:
        case yaml.AliasEvent():
            raise NotATreeError("aliases are not allowed", span)
        case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
            tree.open({} if isinstance(event, yaml.MappingStartEvent) else [], span)
        case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
            tree.close()
        case yaml.ScalarEvent():
            tree.add(_scalar(event.value) if event.implicit[0] else event.value, span)
        case _:
            pass


def _read_json(source: str) -> tuple[Any, dict[Path, Span]]:
    """Read JSON, which is not quite YAML: msgspec reads the values, a scan finds the places."""
    tree = _Tree()
    line, start, offset = 1, 0, 0
    for token in _JSON_TOKEN.finditer(source):
        line += source.count("\n", offset, token.start())
        start = source.rfind("\n", 0, token.start()) + 1 if "\n" in source[offset : token.start()] else start
        offset = token.start()
        span = Span(line, offset - start + 1, token[0][:80])
        try:
            match token[0]:
                case "{":
                    tree.open({}, span)
                case "[":
                    tree.open([], span)
                case "}" | "]":
                    tree.close()
                case text:
                    tree.add(msgspec.json.decode(text.encode()), span)
        except (IndexError, msgspec.DecodeError, UnicodeError):
            break  # not JSON; the error is raised below
    try:
        return msgspec.json.decode(source.encode()), tree.spans
    except (msgspec.DecodeError, UnicodeError) as problem:
        # msgspec has the position of an error only in its message.
        message, _, place = str(problem).partition(" (byte ")
        preceding = (
            source.encode("utf-8", "replace")[: int(place.rstrip(")"))].decode("utf-8", "ignore") if place else source
        )
        raise NotATreeError(message, Span(preceding.count("\n") + 1, len(preceding) - preceding.rfind("\n"))) from None


def write_tree(plain: Any, form: TreeForm) -> str:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
    text: str = yaml.dump(plain, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=110)
    return text


def convert_tree(plain: Any, spans: dict[Path, Span], kind: type[Any]) -> Any:
    """The model of plain values; NotATreeError with the place of the first mismatch."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as problem:
        # msgspec has the path to the value only in its message.
        message, _, way = str(problem).partition(" - at `")
        path = tuple(int(index) if index.isdigit() else _field(name or index) for name, index in _WAY.findall(way))
        span = next((spans[path[:n]] for n in range(len(path), 0, -1) if path[:n] in spans), None)
        raise NotATreeError(message[:1].lower() + message[1:] + (f", at `{way}" if way else ""), span) from None


def _field(name: str) -> str:
    """The field name of a key: `copyOf` is `copy_of`."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), name)


class _Tree:
    """Builds plain values without recursion, with the place of each."""

    def __init__(self) -> None:
        self.spans: dict[Path, Span] = {}
        self.root: list[Any] = []
        self._stack: list[tuple[Path, Any, list[Any]]] = []

    def open(self, node: Any, span: Span) -> None:
        if len(self._stack) >= _DEEPEST:
            raise NotATreeError(f"it is nested more than {_DEEPEST} deep", span)
        self._stack.append((self._place(span), node, []))

    def close(self) -> None:
        _, node, _ = self._stack.pop()
        self._put(node, None)

    def add(self, value: Any, span: Span) -> None:
        self._place(span)
        self._put(value, span)

    def _place(self, span: Span) -> Path:
        """The path of the value that begins here, recorded; a key has none."""
        if not self._stack:
            return ()
        parent_path, node, keys = self._stack[-1]
        if isinstance(node, dict) and not keys:
            return ()
        path = (*parent_path, len(node) if isinstance(node, list) else _field(keys[0]))
        self.spans[path] = Span(span.line, span.column, span.text[:80])
        return path

    def _put(self, value: Any, span: Span | None) -> None:
        if not self._stack:
            self.root.append(value)
            return
        _, node, keys = self._stack[-1]
        if isinstance(node, list):
            node.append(value)
        elif keys:
            node[keys.pop()] = value
        elif not isinstance(value, str):
            raise NotATreeError("a key is not a word", span)
        elif value in node:
            raise NotATreeError(f"the key `{value}` is there twice", span)
        else:
            keys.append(value)


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
