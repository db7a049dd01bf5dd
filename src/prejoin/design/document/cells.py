"""Reads and writes the cells of the document: names, key templates and texts in Markdown.

A name or template is in backticks, other text is plain. Text that Markdown cannot carry (a line break in a key, a
single dash) is a JSON string in backticks, so every text can be written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from prejoin.design.document.headings import PARTS, STORE
from prejoin.design.model import TABLE, Billing, KeyAttribute, Projection, ProjectionKind, When
from prejoin.workload.document.markdown import Text
from prejoin.workload.grammar.lexer import WORD, Inexact

NONE = frozenset({"", "-", "–", "—", "n/a", "none"})
"""Text for an empty cell."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_HTML = re.compile(r"<(?!br\s*+/?>)[A-Za-z/!?]", re.IGNORECASE)
_PLAIN_TITLE = re.compile(r"[^\s`*_<>\[\]\\#&|~$](?:[^`*_<>\[\]\\&|~$]*[^\s`*_<>\[\]\\#&|~$])?")
_TYPES = {"s": "S", "string": "S", "n": "N", "number": "N", "b": "B", "binary": "B"}
BASE_NAMES = frozenset({"table", "main", "main table", "base", "base table"})
"""Names that people use for the table among its indexes."""
_TYPED = re.compile(r"(.*?)(?<!\s)\s*+\(\s*+(\w+)\s*+\)", re.DOTALL)


# --- One text -------------------------------------------------------------------------------------------------------


def write_code(text: str) -> str:
    r"""A name or template in backticks.

    >>> print(write_code("USER#{userId}"), write_code("a`b"), write_code("a\nb"))
    `USER#{userId}` ``a`b`` `"a\nb"`
    """
    odd = not text or text != text.strip() or text.startswith('"') or "<br" in text.lower() or _ODD.search(text)
    return _fenced(_quoted(text) if odd else text)


def _fenced(inside: str) -> str:
    runs = {len(run) for run in re.findall("`+", inside)}
    fence = "`" * next(length for length in range(1, len(inside) + 2) if length not in runs)
    pad = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{fence}{pad}{inside}{pad}{fence}"


def read_code(text: str) -> str:
    """The text in backticks; other text is returned as it is.

    >>> read_code("`USER#{userId}`"), read_code("pk")
    ('USER#{userId}', 'pk')
    """
    text = text.strip()
    match = _CODE.fullmatch(text)
    if not match:
        return text
    inside = match[2]
    if len(inside) > 2 and inside[0] == inside[-1] == " " and inside.strip():
        inside = inside[1:-1]
    return _unquoted(inside)


def _quoted(text: str) -> str:
    ascii_only = any("\ud800" <= char <= "\udfff" for char in text)
    written = json.dumps(text, ensure_ascii=ascii_only)
    written = _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
    return re.sub(r"<(?=br)", r"\\u003c", written, flags=re.IGNORECASE)


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if isinstance(value, str):
            return value
    return text


def write_prose(text: str) -> str:
    """A text in one line; escaping for the cell is left to the table."""
    if not text:
        return "-"
    line = text.replace("\n", "<br>")
    # Text that looks like HTML would be rendered as HTML.
    odd = _ODD.search(line) or has_html(line)
    return line if read_prose(line) == text and not odd else _fenced(_quoted(text))


def has_html(text: str) -> bool:
    """Whether Markdown would take a part of a text for HTML, other than a line break.

    >>> has_html("a <b>"), has_html("`<b>` < 3<br>")
    (True, False)
    """
    return _HTML.search(_CODE.sub("", text)) is not None


def read_prose(line: str) -> str:
    """The text of a line."""
    line = line.strip()
    if line.lower() in NONE:
        return ""
    match = _CODE.fullmatch(line)
    if match and match[2].startswith('"') and (text := _unquoted(match[2])) != match[2]:
        return text
    return Text(line, 1, 1).lines()


def write_title(name: str) -> str:
    """A name in a heading, in backticks if it could be mistaken for markup."""
    return name if re.fullmatch(r"[^\W_](?:[\w .-]*\w)?", name) and not _ODD.search(name) else write_code(name)


def write_heading(title: str) -> str:
    """The title of a document in a heading, in backticks if it contains markup."""
    title = " ".join(title.split())
    return title if _PLAIN_TITLE.fullmatch(title) and title.isprintable() else write_code(title)


def write_name(name: str) -> str:
    """A name in running text."""
    return name if WORD.match(name) and name.lower() not in NONE else write_code(name)


# --- Several in one cell --------------------------------------------------------------------------------------------


def split(text: str, between: str) -> Iterator[tuple[int, str]]:
    """The pieces between matches of `between` outside of backticks, with their offsets.

    >>> list(split("`a, b`, c", ","))
    [(0, '`a, b`'), (8, 'c')]
    """
    masked = _CODE.sub(lambda match: "\0" * len(match[0]), text)
    start = 0
    for end, following in [
        *((match.start(), match.end()) for match in re.finditer(between, masked)),
        (len(text), len(text)),
    ]:
        piece = text[start:end]
        yield start + len(piece) - len(piece.lstrip()), piece.strip()
        start = following


def is_none(text: str) -> bool:
    return text.strip().lower() in NONE


def write_list(names: Iterable[str], between: str = ", ") -> str:
    return between.join(map(write_code, names)) or "-"


def read_list(text: str, between: str = ",") -> tuple[str, ...]:
    """Names separated by commas.

    >>> read_list("`first name`, email"), read_list("-")
    (('first name', 'email'), ())
    """
    if is_none(text):
        return ()
    names = []
    for offset, piece in split(text, between):
        if not piece:
            raise Inexact("a name is missing here", "separate names by one comma", offset, text)
        names.append(read_code(piece))
    return tuple(names)


def write_templates(texts: Sequence[str]) -> str:
    return write_list(texts)


def read_templates(text: str) -> tuple[str, ...]:
    """Key templates, one for each attribute of the key. A single one needs no backticks.

    >>> read_templates("`TENANT#{t}`, `{region}`"), read_templates("SCORE#{n:06d, desc}")
    (('TENANT#{t}', '{region}'), ('SCORE#{n:06d, desc}',))
    """
    if is_none(text):
        return ()
    return read_list(text) if "`" in text else (text.strip(),)


def write_key(attributes: Sequence[KeyAttribute]) -> str:
    return ", ".join(f"{write_code(attribute.name)} ({attribute.type})" for attribute in attributes) or "-"


def read_key(text: str) -> tuple[KeyAttribute, ...]:
    """The attributes of a key with their types.

    >>> read_key("`pk` (S), n (Number)")
    (KeyAttribute(name='pk', type='S'), KeyAttribute(name='n', type='N'))
    """
    if is_none(text):
        return ()
    attributes = []
    for offset, piece in split(text, ","):
        match = _TYPED.fullmatch(piece)
        name = read_code(match[1] if match else piece)
        type_ = _TYPES.get(match[2].lower() if match else "s")
        if not name or not type_:
            fix = "write the attribute and its type, `` `pk` (S) ``; the types are S, N and B"
            raise Inexact(f"`{piece}` is not an attribute of a key", fix, offset, piece)
        attributes.append(KeyAttribute(name, type_))
    return tuple(attributes)


def write_projection(projection: Projection) -> str:
    names = f" ({write_list(projection.attributes)})" if projection.attributes else ""
    return f"{projection.kind}{names}"


def read_projection(text: str) -> Projection:
    """The projection of an index.

    >>> read_projection("INCLUDE (`name`, price)").attributes, read_projection("KEYS_ONLY").kind.value
    (('name', 'price'), 'KEYS_ONLY')
    """
    if is_none(text):
        return Projection()
    kind, _, names = text.strip().partition("(")
    word = read_code(kind).upper().replace(" ", "_")
    if word not in ProjectionKind.__members__:
        fix = "write `ALL`, `KEYS_ONLY` or `INCLUDE (name, price)`"
        raise Inexact(f"`{text.strip()}` is not a projection", fix, 0, text.strip())
    return Projection(ProjectionKind(word), read_list(names.strip().removesuffix(")")))


def write_when(whens: Sequence[When]) -> str:
    return " and ".join(f"{write_code(when.attribute)} is {_condition_words(when)}" for when in whens) or "-"


def _condition_words(when: When) -> str:
    if when.absent:
        return "absent"
    return " or ".join(map(write_code, when.values)) or "there"


def read_when(text: str) -> tuple[When, ...]:
    """The conditions of a sparse index.

    >>> [str(one) for one in read_when("`status` is `OPEN` or `PAID` and `flag` is there and `leftAt` is absent")]
    ['status is OPEN or PAID', 'flag is there', 'leftAt is absent']
    """
    if is_none(text):
        return ()
    whens = []
    for offset, piece in split(text, r"(?<!\s)\s++and\s++|;"):
        parts = [part for _, part in split(piece, r"(?<=\s)(?:is|=|in|exists)(?=\s|$)|=")]
        if len(parts) != 2 or not parts[0]:
            fix = "write `` `status` is `OPEN` or `PAID` ``, `` `status` is there `` or `` `status` is absent ``"
            raise Inexact(f"`{piece}` does not say which items are in the index", fix, offset, piece)
        name, values = parts
        word = values.lower()
        texts = () if word in {"there", "absent", ""} else read_list(values.strip("()"), r"\s+or\s+|,")
        whens.append(When(read_code(name), texts, word == "absent"))
    return tuple(whens)


# --- One word -------------------------------------------------------------------------------------------------------


def read_slot(text: str) -> str:
    return TABLE if is_none(text) or text.strip().lower() in BASE_NAMES else read_code(text)


def read_optional(text: str) -> str:
    return "" if is_none(text) else read_code(text)


def read_separator(text: str) -> str:
    return read_code(text) if len(text.strip()) != 1 else text.strip()


def read_local(text: str) -> bool:
    return text.strip().lower().startswith(("local", "lsi"))


def read_place(text: str) -> bool:
    """Whether the place of a large content is an object store."""
    word = read_code(text).lower()
    if word not in (STORE, PARTS):
        raise Inexact(f"`{text.strip()}` is not a place", f"write `{STORE}` or `{PARTS}`", 0, text.strip())
    return word == STORE


def write_place(is_stored: bool) -> str:
    return STORE if is_stored else PARTS


def read_number(text: str) -> int:
    if is_none(text):
        return 1
    if not re.fullmatch(r"\d{1,4}", text.strip(), re.ASCII):
        raise Inexact(
            f"`{text.strip()}` is not a number of shards", "write 1, or more where it is hot", 0, text.strip()
        )
    return int(text)


def read_billing(text: str) -> Billing:
    word = read_code(text).upper().replace("-", "_").replace(" ", "_")
    if is_none(text) or word.startswith(("PAY_PER_REQUEST", "ON_DEMAND")):
        return Billing.ON_DEMAND
    if word.startswith("PROVISIONED"):
        return Billing.PROVISIONED
    fix = "write `PAY_PER_REQUEST` or `PROVISIONED`"
    raise Inexact(f"`{text.strip()}` is not a billing mode", fix, 0, text.strip())
