"""A parser for the HCL that we generate: blocks, attributes, objects, lists, texts; other expressions as text."""

from __future__ import annotations

import json
import re
from typing import Any

_PIECE = re.compile(r'\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[nrt"\\]|\$\$\{|%%\{|\$\{|%\{|[^\\"\r\n]')
"""A part of a string. `$$${` is ambiguous, so tests avoid it."""
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|[{}\[\](),=]|[^\s{}\[\](),="#]+|\n')


class Reader:
    def __init__(self, text: str) -> None:
        self.tokens = [one for one in _TOKEN.findall(text) if not one.startswith("#")]
        self.at = 0

    def body(self, end: str = "") -> dict[str, Any]:
        """Attributes by name; blocks by type and labels, as lists."""
        found: dict[str, Any] = {}
        while True:
            self.skip()
            if self.at == len(self.tokens) or self.tokens[self.at] == end:
                self.at += 1
                return found
            header = [self.next()]
            while self.tokens[self.at] not in ("=", "{"):
                header.append(json.loads(self.next()))
            if self.next() == "=":
                found[_name(header[0])] = self.value()
            else:
                found.setdefault(".".join(header), []).append(self.body("}"))

    def value(self) -> Any:
        self.skip()
        token = self.next()
        if token == "{":
            return self.body("}")
        if token == "[":
            found: list[Any] = []
            while True:
                self.skip()
                if self.tokens[self.at] == "]":
                    self.at += 1
                    return found
                found.append(self.value())
                self.skip()
                if self.tokens[self.at] == ",":
                    self.at += 1
        if token.startswith('"'):
            return string(token)
        if self.at < len(self.tokens) and self.tokens[self.at] == "(":
            self.at += 1
            argument = self.value()
            while self.tokens[self.at] != ")":
                self.at += 1
            self.at += 1
            return argument
        if token in ("true", "false"):
            return token == "true"
        return int(token) if token.isdigit() else f"<{token}>"

    def next(self) -> str:
        self.at += 1
        return str(self.tokens[self.at - 1])

    def skip(self) -> None:
        while self.at < len(self.tokens) and self.tokens[self.at] == "\n":
            self.at += 1


def read(text: str) -> dict[str, Any]:
    return Reader(text).body()


def _name(token: str) -> str:
    return string(token, templates=False) if token.startswith('"') else token


def string(token: str, templates: bool = True) -> str:
    """The text of a string literal by the rules of HCL. Templates stay as they are, or are refused."""
    body, at, found = token[1:-1], 0, ""
    while at < len(body):
        piece = _PIECE.match(body, at)
        assert piece, f"{body[at : at + 9]!r} is not in HCL"
        at = piece.end()
        text = piece[0]
        if text.startswith(("\\u", "\\U")):
            text = chr(int(text[2:], 16))
        elif text.startswith("\\"):
            text = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}[text[1]]
        elif text in ("$${", "%%{"):
            text = text[1:]
        elif text in ("${", "%{"):
            assert templates, f"{token} has a template"
        found += text
    return found
