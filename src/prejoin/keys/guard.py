"""The key of a guard: the item that enforces a unique value, because the value is its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prejoin.keys.template.parts import KeyText
from prejoin.keys.template.separator import Separator
from prejoin.keys.template.template import Template
from prejoin.types import Type


def guard_key(
    tag: str,
    attributes: Sequence[str],
    types: Mapping[str, Type],
    separator: str = "#",
    has_sort_key: bool = True,
    names: Sequence[str] = (),
) -> tuple[Template, Template | None]:
    """The templates of a guard's partition and sort key, for the entity with this tag.

    `names` are the attributes' names in the table, if different. Two programs that spell them differently then guard
    the same value with the same item.

    >>> from prejoin.types import STRING
    >>> pk, sk = guard_key("User", ["email"], {"email": STRING})
    >>> pk.build({"email": "a@b.com"}), sk.text
    ('UNIQUE#User#email#a@b.com', 'UNIQUE')
    >>> guard_key("User", ["e_mail"], {"e_mail": STRING}, names=["eMail"])[0].build({"e_mail": "a@b.com"})
    'UNIQUE#User#eMail#a@b.com'
    """
    quote = Separator(separator).quote
    label = separator.join(quote(text) for text in ("UNIQUE", tag, "+".join(names or attributes)))
    fields = separator.join(f"{{{name}}}" for name in attributes)
    template = Template.of(fields, types, separator)
    # Built from parts, because the quoted tag may contain escapes, which a template's own text must not.
    pk = Template(f"{label}{separator}{fields}", (KeyText(label + separator), *template.parts), template.separator)
    return pk, Template.of("UNIQUE", {}, separator) if has_sort_key else None
