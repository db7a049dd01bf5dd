"""The key of a guard: the item that makes a value unique, because its key is the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prejoin.types import Type

from .parts import Literal
from .separator import Separator
from .template import Template


def guard_key(
    tag: str, attributes: Sequence[str], types: Mapping[str, Type], separator: str = "#", sorted_: bool = True
) -> tuple[Template, Template | None]:
    """The templates of a guard's partition and sort key, for the entity with this tag.

    >>> from prejoin.types import STRING
    >>> pk, sk = guard_key("User", ["email"], {"email": STRING})
    >>> pk.build({"email": "a@b.com"}), sk.text
    ('UNIQUE#User#email#a@b.com', 'UNIQUE')
    """
    quote = Separator(separator).quote
    label = separator.join(quote(text) for text in ("UNIQUE", tag, "+".join(attributes)))
    fields = separator.join(f"{{{name}}}" for name in attributes)
    of = Template.of(fields, types, separator)
    # Put together from parts, for the tag may hold what no template's own text may: escapes.
    pk = Template(f"{label}{separator}{fields}", (Literal(label + separator), *of.parts), of.separator)
    return pk, Template.of("UNIQUE", {}, separator) if sorted_ else None
