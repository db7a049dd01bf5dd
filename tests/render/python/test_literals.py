"""Strings of a document in generated Python are read back unchanged."""

from __future__ import annotations

import ast
import importlib
import sys
import tempfile
import typing
from itertools import count
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.place import examples
from tests.render.python.driving import written
from tests.solutions import solve

from prejoin.render.python import Options, render_python
from prejoin.render.python.layout import Group, Noted, Part, call, comment, docstring, keyword, lay, listing, string
from prejoin.render.python.names import names_of
from prejoin.types import Kind, Type
from prejoin.workload.model import Attribute, Entity, Input, Op, Read, Result, Value, Workload

_numbers = count(1)
PIECES = (
    "  # ", "# ", "'", '"', '"""', "'''", "\\", "\\\\", "\n", "\r\n", "\t", "\0", "\x85", "\u2028", "\u2029", "\ud800",
    "{", "}", "{x}", "%s", "${x}", "$(id)", "`id`", "return ", "tuple[", ", ", "]", ")", "noqa", "é", "🙂", "名前",
    "\x1b[31m", "\u202e", "-- ", "a" * 120,
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=6).map("".join)
# Readers refuse lone surrogates, and DynamoDB could not store them.
words = texts.map(lambda text: text.replace("\ud800", "")).filter(lambda text: bool(text.strip()))


@given(texts)
@example("a  # b")
def test_string_literal_evaluates_to_its_text(text: str) -> None:
    assert ast.literal_eval(string(text)) == text


@given(st.lists(texts, min_size=1, max_size=5))
@example(["x" * 90, "two  # three"])
def test_laid_out_strings_evaluate_to_their_texts(found: list[str]) -> None:
    parts: list[Part] = [listing(map(string, found)), *map(string, found), keyword("k", string(found[0]))]
    code = "\n".join(lay(call("f", *parts)))
    got = eval(code, {"f": lambda *given, k: (*given, k)})
    assert got == (found, *found, found[0])


def test_comment_stays_behind_the_comma_of_its_line() -> None:
    group = Group("f(", (Noted(string("a  # b"), "noqa: B023"), string("c  # d")))
    lines = lay(group)
    assert lines == ["f(", '    "a  # b",  # noqa: B023', '    "c  # d",', ")"]
    assert eval("\n".join(lines), {"f": lambda *given: given}) == ("a  # b", "c  # d")


@given(texts, texts)
def test_docstrings_and_comments_hold_any_text(first: str, second: str) -> None:
    lines = [*docstring(first, second), *comment(second), "x = 1"]
    tree = ast.parse("\n".join(lines))
    assert len(tree.body) == 2
    assert isinstance(ast.get_docstring(tree), str)


@settings(max_examples=examples(25))
@given(st.lists(words, min_size=2, max_size=3, unique=True), words, words)
@example(["a  # b", "B"], "t", "d")
@example(['"""', "\\"], "$(id)\n`x`", '"""\n\\')
def test_generated_package_holds_the_constants_of_the_document(values: list[str], title: str, about: str) -> None:
    enum = Attribute("status", type=Type(Kind.ENUM, values=tuple(values)), mutable=True)
    rank = Attribute("note", optional=True)
    attributes = (Attribute("orderId", id=True), Attribute("userId"), enum, rank)
    constant = Input("status", Op.EQ, (Value(const=values[0]),))
    above = Input("note", Op.GT, (Value(const=values[1]),), filter=True)
    reads = (
        Read("AP-001", "", ("Order",), about, (Input("userId"), constant), Result.MANY),
        Read("AP-002", "", ("Order",), about, (Input("userId"), above), Result.MANY),
    )
    workload = Workload(title, entities=(Entity("Order", about, attributes),), reads=reads)
    package = f"literals_{next(_numbers)}"
    files = render_python(workload, solve(workload).design, Options(package))
    assert len(files) > 5
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            compile(text, str(path), "exec")
        written(files, Path(folder))
        sys.path.insert(0, folder)
        try:
            importlib.invalidate_caches()
            schema = importlib.import_module(f"{package}.schema")
            entities = importlib.import_module(f"{package}.entities")
            importlib.import_module(f"{package}.repository")
        finally:
            sys.path.remove(folder)
    assert typing.get_args(getattr(entities, names_of(workload).enums["Order", "status"])) == tuple(values)
    constants = {value for facet in schema.SCHEMA.facets for when in facet.when for value in when.values or ()}
    assert constants <= {values[0]}
    sources = " ".join(ast.dump(ast.parse(text)) for text in files.values())
    assert repr(values[1]) in sources
