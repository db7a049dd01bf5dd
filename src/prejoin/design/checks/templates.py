"""Checks key templates: distinct, ordered, immutable, complete, and unique."""

from __future__ import annotations

import re
from itertools import combinations

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey, FlawKind
from prejoin.design.checks.report import Report
from prejoin.design.model import TABLE
from prejoin.keys import KeyField, KeyForm, Lookup, Natural, Template, TemplateError, disjoint
from prejoin.keys.guard import guard_key
from prejoin.protocol import limits
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.lookup import identified
from prejoin.workload.model import (
    Entity,
    Uniqueness,
)
from prejoin.workload.tenants import common_tenant

_DATE = re.compile(r"(?i:date|time|timestamp)|(?<=[a-z])(At|On)\Z")
_FLAWS = {
    FlawKind.TOGETHER: (
        codes.RUN_TOGETHER,
        "`{about}` in `{text}` has no separator after it",
        "put the separator after it",
    ),
    FlawKind.PICTURE: (codes.DATE_FORM, "dates written as `{about}` do not sort by time", "write them as `YYYY-MM-DD`"),
    FlawKind.LOSSY: (
        codes.ROUNDED,
        "`{about}` in `{text}` is rounded: values that differ only after the point have no order",
        "use all digits that the order depends on",
    ),
}


def check_keys(r: Report) -> None:
    _flaws(r)
    for entity in r.workload.entities:
        if not any(i.entity == entity.name and not i.copy for i in r.design.items):
            r.say(
                codes.NO_ITEM,
                f"{entity.name} has no item of its own",
                f"give {entity.name} a key in the table",
                entity.name,
            )
    _check_distinct(r)
    for key in r.keys:
        _order(r, key)
        _digits(r, key)
        _separators(r, key)
        _length(r, key)
        if key.slot == TABLE and not key.item.copy:
            _unchanging(r, key)
            _identifying(r, key)
        _whole(r, key)
    _unique(r)


def _flaws(r: Report) -> None:
    for flaw in r.flaws:
        if flaw.what in (FlawKind.UNKNOWN, FlawKind.UNREADABLE):
            message = f"{flaw.entity} has no attribute `{flaw.about}`, and `{flaw.text}` needs it"
            if flaw.what is FlawKind.UNREADABLE:
                message = flaw.about
            fix = f"add it to {flaw.entity}, or leave it out of the key"
            r.say(codes.NO_SUCH_PART, message, fix, flaw.entity, flaw.slot)
        else:
            code, message, fix = _FLAWS[flaw.what]
            r.say(
                code, f"{flaw.entity}: {message.format(about=flaw.about, text=flaw.text)}", fix, flaw.entity, flaw.slot
            )


# --- Told apart -------------------------------------------------------------------------------------------------------


def _check_distinct(r: Report) -> None:
    """No two types may share a key in the table; in an index they may."""
    here: list[tuple[str, str, tuple[KeyForm, ...], str]] = [
        (key.name, key.entity.name, key.forms, key.text) for key in r.keys if key.slot == TABLE
    ]
    for guard in r.design.guards:
        entity, own = r.workload.entity(guard.entity), r.design.item(guard.entity)
        if entity is None or own is None or not set(guard.attributes) <= {a.name for a in entity.attributes}:
            continue
        types = {a.name: a.type for a in entity.attributes}
        table = r.design.slot(TABLE)
        try:
            pk, sk = guard_key(own.tag, guard.attributes, types, r.design.separator, bool(table and table.sk))
        except TemplateError:
            continue  # impossible, and reported when the design was read
        forms: tuple[KeyForm, ...] = (pk, sk) if sk else (pk,)
        here.append((f"the guard of {guard.entity}.{'+'.join(guard.attributes)}", "", forms, pk.text))
    for (one, owner, forms, text), (other, their_owner, theirs, theirs_text) in combinations(here, 2):
        if _apart(forms, theirs):
            continue
        strictly = _apart(_strict(r, owner, forms), _strict(r, their_owner, theirs))
        name = owner or one
        if strictly:
            r.say(
                codes.HARDLY_APART,
                f"{one} ({text}) and {other} ({theirs_text}) have the same key if a value equals the word of the other",
                "begin each sort key with its own word",
                name,
                TABLE,
            )
        else:
            r.say(
                codes.SAME_KEY,
                f"{one} ({text}) and {other} ({theirs_text}) can have the same key",
                "begin each sort key with its own word",
                name,
                TABLE,
            )


def _apart(ours: tuple[KeyForm, ...], theirs: tuple[KeyForm, ...]) -> bool:
    return any(disjoint(one, other) for one, other in zip(ours, theirs, strict=False))


def _strict(r: Report, name: str, forms: tuple[KeyForm, ...]) -> tuple[KeyForm, ...]:
    """The same keys, if values could not contain the separator."""
    entity = r.workload.entity(name)
    if entity is None:  # a guard
        return forms
    found: list[KeyForm] = []
    for form in forms:
        known = entity.types
        text = form.text if isinstance(form, Template) else "#".join(f"{{{name}}}" for name in form.attributes)
        try:
            found.append(Template.of(text, known, r.design.separator))
        except TemplateError:
            found.append(form)
    return tuple(found)


# --- In order ---------------------------------------------------------------------------------------------------------


def _order(r: Report, key: BoundKey) -> None:
    sk = key.form.sk
    if not isinstance(sk, Template):
        return
    for field in sk.fields:
        attribute = key.entity.attribute(field.attribute)
        if field.spec == "plain":
            continue  # its author says that the order does not matter
        if attribute and attribute.type.numeric and not field.encoding.ordered and not field.encoding.derived:
            r.say(
                codes.UNPADDED,
                f"{key.name}: `{field.attribute}` in `{sk.text}` sorts as text, 10 before 9",
                f"pad it, `{{{field.attribute}:06d}}`",
                key.item.entity,
                key.slot,
            )


def _digits(r: Report, key: BoundKey) -> None:
    """Numbers with less padding than their bounds need."""
    for form in key.forms:
        for field in form.fields:
            attribute = key.entity.attribute(field.attribute)
            held = field.encoding.digits
            if attribute is None or not held:
                continue
            least, most = attribute.bounds
            if (most is not None and most >= 10**held) or (least is not None and least < 0):
                beyond = most if most is not None and most >= 10**held else least
                fix = f"pad it to {len(str(most))} digits" if least is None or least >= 0 else "leave the padding out"
                r.say(
                    codes.NARROW,
                    f"{key.name}: `{field.attribute}` may be {beyond}, and `{form.text}` has {held} digits for it",
                    f"{fix}, or change its bounds",
                    key.item.entity,
                    key.slot,
                )


def check_dates(r: Report) -> None:
    """Dates that a sort order depends on and that are declared as text."""
    found: dict[tuple[str, str], set[str]] = {}
    for id_, answer in r.answers.items():
        ask = answer.plan.lookup
        wanted = {order.attribute for order in ask.order} | ({ask.within.attribute} if ask.within else set())
        for form in answer.plan.facets:
            entity = r.workload.entity(form.entity)
            for name in wanted:
                attribute = entity.attribute(ask.attribute(form.entity, name)) if entity else None
                if attribute and attribute.type.kind is Kind.STRING and _DATE.search(attribute.name):
                    found.setdefault((form.entity, attribute.name), set()).add(id_)
    pictured = {(flaw.entity, flaw.attribute) for flaw in r.flaws if flaw.what is FlawKind.PICTURE}
    for (owner, name), patterns in sorted(found.items()):
        if (owner, name) not in pictured:
            r.say(
                codes.DATE_AS_TEXT,
                f"{name_list(sorted(patterns))}: the order of `{owner}.{name}` depends on how it is written",
                "declare it as `date` or `datetime`, or write it as 2026-05-04T12:00:00Z",
                owner,
            )


def _separators(r: Report, key: BoundKey) -> None:
    if not r.design.raw_keys:
        return
    for form in key.forms:
        if isinstance(form, Natural):
            continue
        for place, part in enumerate(form.parts):
            attribute = key.entity.attribute(part.attribute) if isinstance(part, KeyField) else None
            if attribute is None or part is form.parts[-1] or place + 1 == len(form.parts):
                continue
            plain = attribute.type.kind is Kind.STRING and not (attribute.id or attribute.references)
            if plain and not (isinstance(part, KeyField) and part.encoding.shards):
                r.say(
                    codes.SEPARATOR,
                    f"{key.name}: a `{attribute.name}` with `{r.design.separator}` in it would look like two values "
                    f"in `{form.text}`",
                    "let values be escaped, or refuse such ones",
                    key.item.entity,
                    key.slot,
                )


def _length(r: Report, key: BoundKey) -> None:
    for form, most, what in zip(
        key.forms,
        (limits.PARTITION_KEY_SIZE, limits.SORT_KEY_SIZE),
        ("partition key", "sort key"),
        strict=False,
    ):
        sizes = [
            (attribute.size or 0) if (attribute := key.entity.attribute(field.attribute)) else 0
            for field in form.fields
            if not field.encoding.width
        ]
        words = len(re.sub(r"\{[^{}]*\}", "", form.text)) if isinstance(form, Template) else 0
        if sum(sizes) + words > most:
            r.say(
                codes.LONG_KEY,
                f"{key.name}: the {what} `{form.text}` has {sum(sizes) + words:,} bytes, and {most:,} are allowed",
                "use an id, or a hash of the text",
                key.item.entity,
                key.slot,
            )


# --- Never changing, whole --------------------------------------------------------------------------------------------


def _unchanging(r: Report, key: BoundKey) -> None:
    for name in key.form.attributes:
        attribute = key.entity.attribute(name)
        if attribute is None or attribute.id:
            continue
        by = r.changers(key.entity, name)
        if not by and not attribute.mutable:
            continue
        how = f"{name_list(by)} changes it: a delete and a put under another key" if by else "it is mutable"
        r.say(
            codes.CHANGING_KEY,
            f"{key.name}: `{name}` is in the table's key `{key.text}`, and {how}",
            f"keep `{name}` out of the table's key, and sort by it in an index",
            key.item.entity,
            TABLE,
        )


def _whole(r: Report, key: BoundKey) -> None:
    if key.slot == TABLE:
        lacking = [f.attribute for form in key.forms for f in form.fields if _may_lack(key.entity, f)]
        if lacking and not key.facet.when and not key.item.copy:
            r.say(
                codes.ABSENT,
                f"{key.name}: {name_list(lacking)} may be absent, and is in the table's key `{key.text}`",
                "write `{attribute?}`, or use one that is always there",
                key.item.entity,
                TABLE,
            )
        return
    sk = key.form.sk
    for field in sk.fields if sk else ():
        if not _may_lack(key.entity, field) or any(w.attribute == field.attribute for w in key.facet.when):
            continue
        missing = [
            id_
            for id_, answer in r.answers.items()
            if key.form in answer.plan.facets and not _asks_for(answer.plan.lookup, key.entity.name, field.attribute)
        ]
        if missing:
            r.say(
                codes.ABSENT,
                f"{key.name}: {key.slot} lacks items without `{field.attribute}`: {name_list(missing)} misses them",
                f"write `{{{field.attribute}?}}`, which gives it a place in the order",
                key.item.entity,
                key.slot,
            )


def _may_lack(entity: Entity, field: KeyField) -> bool:
    attribute = entity.attribute(field.attribute)
    return attribute is not None and attribute.optional and not field.optional


def _asks_for(ask: Lookup, entity: str, attribute: str) -> bool:
    name = ask.name(entity, attribute)
    return name in ask.given or (ask.within is not None and ask.within.attribute == name)


# --- Unique -----------------------------------------------------------------------------------------------------------


def _identifying(r: Report, key: BoundKey) -> None:
    ids = [a.name for a in key.entity.id]
    held = {f.attribute for form in key.forms for f in form.fields if not f.encoding.derived}
    folded = {f.attribute for form in key.forms for f in form.fields if f.encoding.folds}
    constant = {a.name for a in key.entity.id if len(a.type.values) == 1}
    lacking = [name for name in ids if name not in held | folded | constant]
    if lacking and not identified(key.entity, held):
        r.say(
            codes.NOT_APART,
            f"{key.name}: {name_list(lacking)} is not in the table's key `{key.text}`, so several items share a key",
            "add it to the end of the sort key",
            key.item.entity,
            TABLE,
        )
    elif ids and set(key.form.attributes) - set(ids) and not any(a.generated for a in key.entity.id):
        guarded = any(g.entity == key.entity.name and set(g.attributes) == set(ids) for g in r.design.guards)
        if not guarded:
            more = sorted(set(key.form.attributes) - set(ids))
            r.say(
                codes.LONGER_THAN_ID,
                f"{key.name}: two items with the same {name_list(ids)} and different {name_list(more)} can both exist",
                "mark the id `generated`, use the id alone as the key, or add a guard",
                key.item.entity,
                TABLE,
            )


def _unique(r: Report) -> None:
    for entity in r.workload.entities:
        base = r.base(entity.name)
        groups: list[tuple[str, ...]] = []
        groups += [(a.name,) for a in entity.attributes if a.unique and (not a.id or len(entity.id) > 1)]
        groups += list(entity.unique)
        groups += [
            (*common_tenant(r.workload, entity.name), check.attribute)
            for write in r.writes
            for check in write.checks
            if isinstance(check, Uniqueness)
            and entity.attribute(check.attribute)
            and (check.entity or write.first_entity) == entity.name
        ]
        for group in dict.fromkeys(groups):
            key = set(base.form.attributes) if base else set()
            guards = [set(g.attributes) for g in r.design.guards if g.entity == entity.name]
            if set(group) != key and set(group) not in guards:
                r.say(
                    codes.NOT_UNIQUE,
                    f"nothing keeps {name_list(list(group))} of {entity.name} unique",
                    f"add a guard, an item whose key is the {' and '.join(group)}",
                    entity.name,
                )
