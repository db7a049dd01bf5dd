"""Strings in infrastructure code: each language reads any text back unchanged."""

from __future__ import annotations

import ast
import json
import re

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from prejoin.render.infrastructure import hcl, typescript
from prejoin.render.infrastructure.cloudformation import Tagged, _text
from prejoin.render.python.layout import string

from .documents import read_template
from .hcl import Reader
from .hcl import string as read_hcl

PIECES = (
    "$", "${", "$${", "%{", "%%{", "%", "{", "}", "{{x}}", "$(id)", "`id`", "</script>", "]]>", "*/", "//", "# ", "\\", '"',
    "'", "\n", "\r", "\t", "\b", "\f", "\0", "\x7f", "\x85", "\u2028", "\u202e", "\ufeff", "é", "🙂", "\U000e0001", ": ", "- ", "yes",
    "null", "~", "!Ref 'X'", "a: !Ref 'X'", " - !GetAtt 'Table.Arn'", "a" * 120,
)  # fmt: skip
texts = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=6
).map("".join)


@given(texts)
@example("$${a}")
@example("a\fb")
def test_terraform_string_round_trips(text: str) -> None:
    literal = hcl.string_literal(text)
    assert read_hcl(literal, templates=False) == text
    # Three signs in a row are ambiguous.
    assert not re.search(r"[$%]{3}\{", literal)
    assert literal.isprintable()


@given(st.dictionaries(texts.filter(bool), texts, max_size=4))
@example({"for": "a", "null": "b"})
def test_terraform_object_round_trips(values: dict[str, str]) -> None:
    text = hcl.file_text([hcl.HclBlock("a", attributes={"tags": values})])
    (block,) = Reader(text).body()["a"]
    assert block["tags"] == values
    assert not re.search(r"^ *(?:for|null|true|false) ", text, re.MULTILINE)


@given(texts)
@example("a\u2028b")
def test_typescript_string_round_trips(text: str) -> None:
    literal = typescript.string_literal(text)
    # A string of JSON is one of JavaScript with the same text.
    assert json.loads(literal) == text
    assert literal.isprintable()


@given(texts.filter(bool), texts)
@example("__proto__", "x")
def test_typescript_property_round_trips(name: str, value: str) -> None:
    (line,) = typescript.call_lines("f(", {name: value}, room=10_000)
    key, _, rest = line.removeprefix("f({ ").removesuffix(" });").rpartition(f": {typescript.string_literal(value)}")
    assert rest == ""
    if name == "__proto__":
        assert key == '["__proto__"]'
    else:
        assert name == (json.loads(key) if key.startswith('"') else key)


@given(texts)
@example("a  # b")
def test_cdk_python_string_round_trips(text: str) -> None:
    assert ast.literal_eval(string(text)) == text


@given(st.dictionaries(texts, texts, max_size=3), st.sampled_from(["Table.Arn", "TableName"]))
@example({"a": "b - !Ref 'X'"}, "Table.Arn")
def test_cloudformation_text_round_trips(values: dict[str, str], name: str) -> None:
    kept = {key: value for key, value in values.items() if _in_yaml(key) and _in_yaml(value)}
    found = read_template(_text({"values": kept, "ref": Tagged("Ref", name)}))
    assert found == {"values": kept, "ref": {"Ref": name}}


def _in_yaml(text: str) -> bool:
    """Whether PyYAML can read its own output: not with a byte order mark, or characters beyond plane 0."""
    return yaml.safe_load(yaml.safe_dump(text, allow_unicode=True)) == text
