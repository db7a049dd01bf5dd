"""Keys as people and tools look them up: the key map of a schema as text, and the values in a key."""

from __future__ import annotations

from collections.abc import Sequence

from prejoin.keys import Facet, KeyForm, KeyValueError, Natural

_TITLES = ("entity", "in", "partition key", "sort key", "when")


def key_map(facets: Sequence[Facet]) -> str:
    """A line for each facet, in columns."""
    rows = [_TITLES, *(_row(facet) for facet in facets)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_TITLES))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _row(facet: Facet) -> tuple[str, ...]:
    return (
        f"{facet.entity}, copy {facet.copy}" if facet.copy else facet.entity,
        facet.slot,
        str(facet.pk),
        str(facet.sk or ""),
        " and ".join(map(str, facet.when)),
    )


def values_in(facet: Facet, pk: object, sk: object) -> dict[str, object] | None:
    """The values that a key of a facet is made of; None if it is no such key."""
    found: dict[str, object] = {}
    for form, key in ((facet.pk, pk), (facet.sk, sk)):
        if (form is None) != (key is None):
            return None
        values = _values(form, key) if form else {}
        if values is None or any(found.get(name, value) != value for name, value in values.items()):
            return None
        found |= values
    return found


def _values(form: KeyForm, key: object) -> dict[str, object] | None:
    if isinstance(form, Natural):
        return form.parse(key)
    try:
        return form.parse(key) if isinstance(key, str) else None
    except KeyValueError:
        return None


def shown_key(pk: object, sk: object) -> str:
    return repr(pk) if sk is None else f"{pk!r}, {sk!r}"
