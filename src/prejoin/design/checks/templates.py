"""Checks key templates: distinct, ordered, immutable, complete, and unique."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from prejoin.constructs.registry import added_in, added_key
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey, FlawKind
from prejoin.design.checks.report import Report
from prejoin.design.model import TABLE
from prejoin.keys import KeyField, KeyForm, Lookup, Template, TemplateError, disjoint
from prejoin.protocol import limits
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.lookup import identified
from prejoin.workload.model import Attribute, Entity, Uniqueness
from prejoin.workload.tenants import common_tenant

_TTL_DIGITS = 10
"""The digits of a time in seconds since 1970, until the year 2286."""
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


def check_keys(report: Report) -> None:
    _report_flaws(report)
    for entity in report.workload.entities:
        if report.design.item(entity.name) is None:
            report.say(
                codes.NO_ITEM,
                f"{entity.name} has no item of its own",
                f"give {entity.name} a key in the table",
                entity.name,
            )
    _check_distinct(report)
    for key in report.keys:
        _check_order(report, key)
        _check_digits(report, key)
        _check_separators(report, key)
        _check_length(report, key)
        if key.slot == TABLE and not key.item.copy:
            _check_immutable(report, key)
            _check_identity(report, key)
        _check_presence(report, key)
    _check_unique(report)


def _report_flaws(report: Report) -> None:
    for flaw in report.flaws:
        if flaw.kind in (FlawKind.UNKNOWN, FlawKind.UNREADABLE):
            message = f"{flaw.entity} has no attribute `{flaw.about}`, and `{flaw.text}` needs it"
            if flaw.kind is FlawKind.UNREADABLE:
                message = flaw.about
            fix = f"add it to {flaw.entity}, or leave it out of the key"
            report.say(codes.NO_SUCH_PART, message, fix, flaw.entity, flaw.slot)
        else:
            code, message, fix = _FLAWS[flaw.kind]
            report.say(
                code, f"{flaw.entity}: {message.format(about=flaw.about, text=flaw.text)}", fix, flaw.entity, flaw.slot
            )


# --- Told apart -------------------------------------------------------------------------------------------------------


def _check_distinct(report: Report) -> None:
    """No two types may share a key in the table; in an index they may."""
    table_keys: list[tuple[str, str, tuple[KeyForm, ...], str]] = [
        (key.name, key.entity.name, key.forms, key.text) for key in report.keys if key.slot == TABLE
    ]
    for construct in added_in(report.workload, report.design):
        if construct.has_own_word:
            continue
        if templates := added_key(construct, report.design):
            table_keys.append((f"the {construct.note} of {construct.entity.name}", "", templates, templates[0].text))
    for (subject, owner, forms, text), (other_name, other_owner, other_forms, other_text) in combinations(
        table_keys, 2
    ):
        if _are_disjoint(forms, other_forms):
            continue
        strict_forms = _without_separator_in_values(report, owner, forms)
        other_strict_forms = _without_separator_in_values(report, other_owner, other_forms)
        code, clause = codes.SAME_KEY, "can have the same key"
        if _are_disjoint(strict_forms, other_strict_forms):
            code, clause = codes.HARDLY_APART, "have the same key if a value equals the word of the other"
        message = f"{subject} ({text}) and {other_name} ({other_text}) {clause}"
        report.say(code, message, "begin each sort key with its own word", owner or subject, TABLE)


def _are_disjoint(forms: tuple[KeyForm, ...], other_forms: tuple[KeyForm, ...]) -> bool:
    return any(disjoint(form, other_form) for form, other_form in zip(forms, other_forms, strict=False))


def _without_separator_in_values(report: Report, name: str, forms: tuple[KeyForm, ...]) -> tuple[KeyForm, ...]:
    """The same keys, if values could not contain the separator."""
    entity = report.workload.entity(name)
    if entity is None:  # a guard
        return forms
    strict_forms: list[KeyForm] = []
    for form in forms:
        types = entity.types
        text = form.text if isinstance(form, Template) else "#".join(f"{{{name}}}" for name in form.attributes)
        try:
            strict_forms.append(Template.of(text, types, report.design.separator))
        except TemplateError:
            strict_forms.append(form)
    return tuple(strict_forms)


# --- In order ---------------------------------------------------------------------------------------------------------


def _check_order(report: Report, key: BoundKey) -> None:
    sk = key.form.sk
    if not isinstance(sk, Template):
        return
    for field in sk.fields:
        attribute = key.entity.attribute(field.attribute)
        if field.spec == "plain":
            continue  # its author says that the order does not matter
        if attribute and attribute.type.numeric and not field.encoding.ordered and not field.encoding.derived:
            report.say_of_key(
                key,
                codes.UNPADDED,
                f"`{field.attribute}` in `{sk.text}` sorts as text, 10 before 9",
                f"pad it, `{{{field.attribute}:06d}}`",
            )


def _check_digits(report: Report, key: BoundKey) -> None:
    """Numbers with less padding than their bounds need."""
    for form in key.forms:
        for field in form.fields:
            attribute = key.entity.attribute(field.attribute)
            digits = field.encoding.digits
            if attribute is not None and digits:
                for problem, fix in _narrowness(attribute, digits, form.text):
                    report.say_of_key(key, codes.NARROW, problem, fix)


def _narrowness(attribute: Attribute, digits: int, text: str) -> Iterator[tuple[str, str]]:
    """Why so many digits are too few for an attribute in a key, and the fix."""
    if attribute.ttl and digits < _TTL_DIGITS:
        problem = f"`{attribute.name}` is a number of seconds since 1970, and `{text}` has {digits} digits for it"
        yield problem, f"pad it to {_TTL_DIGITS} digits"
        return
    lowest, highest = attribute.bounds
    is_negative = lowest is not None and lowest < 0
    is_too_large = highest is not None and highest >= 10**digits
    if is_negative or is_too_large:
        bound = highest if is_too_large else lowest
        # Padding does not sort negative numbers.
        fix = "leave the padding out" if is_negative else f"pad it to {len(str(highest))} digits"
        problem = f"`{attribute.name}` may be {bound}, and `{text}` has {digits} digits for it"
        yield problem, f"{fix}, or change its bounds"


def check_dates(report: Report) -> None:
    """Dates that a sort order depends on and that are declared as text."""
    reads_by_attribute: dict[tuple[str, str], set[str]] = {}
    for id_, answer in report.answers.items():
        for form in answer.plan.facets:
            entity = report.workload.entity(form.entity)
            for attribute in _ordering_attributes(answer.plan.lookup, entity) if entity else ():
                if attribute.type.kind is Kind.STRING and _DATE.search(attribute.name):
                    reads_by_attribute.setdefault((form.entity, attribute.name), set()).add(id_)
    with_picture = {(flaw.entity, flaw.attribute) for flaw in report.flaws if flaw.kind is FlawKind.PICTURE}
    for (owner, name), patterns in sorted(reads_by_attribute.items()):
        if (owner, name) not in with_picture:
            report.say(
                codes.DATE_AS_TEXT,
                f"{name_list(sorted(patterns))}: the order of `{owner}.{name}` depends on how it is written",
                "declare it as `date` or `datetime`, or write it as 2026-05-04T12:00:00Z",
                owner,
            )


def _ordering_attributes(ask: Lookup, entity: Entity) -> Iterator[Attribute]:
    """The attributes of an entity by which a question sorts, or of which it asks for a range."""
    names = {order.attribute for order in ask.order}
    if ask.within:
        names.add(ask.within.attribute)
    for name in names:
        attribute = entity.attribute(ask.attribute(entity.name, name))
        if attribute is not None:
            yield attribute


def _check_separators(report: Report, key: BoundKey) -> None:
    """Values before another value that may contain the separator, in keys without escaping."""
    if not report.design.raw_keys:
        return
    for form in key.forms:
        for part in form.parts[:-1] if isinstance(form, Template) else ():
            if isinstance(part, KeyField) and _may_contain_separator(key.entity, part):
                report.say_of_key(
                    key,
                    codes.SEPARATOR,
                    f"a `{part.attribute}` with `{report.design.separator}` in it would look like two "
                    f"values in `{form.text}`",
                    "let values be escaped, or refuse such ones",
                )


def _may_contain_separator(entity: Entity, field: KeyField) -> bool:
    """Whether a value is any text: ids and references are taken to have no separators."""
    attribute = entity.attribute(field.attribute)
    if attribute is None or attribute.id or attribute.references:
        return False
    return attribute.type.kind is Kind.STRING and not field.encoding.shards


def _check_length(report: Report, key: BoundKey) -> None:
    limits_of_keys = (("partition key", limits.PARTITION_KEY_SIZE), ("sort key", limits.SORT_KEY_SIZE))
    for form, (description, limit) in zip(key.forms, limits_of_keys, strict=False):
        size = _stated_size(key.entity, form)
        if size > limit:
            report.say_of_key(
                key,
                codes.LONG_KEY,
                f"the {description} `{form.text}` has {size:,} bytes, and {limit:,} are allowed",
                "use an id, or a hash of the text",
            )


def _stated_size(entity: Entity, form: KeyForm) -> int:
    """The bytes of a key's words, and of the values whose size the document says."""
    size = len(re.sub(r"\{[^{}]*\}", "", form.text)) if isinstance(form, Template) else 0
    for field in form.fields:
        attribute = entity.attribute(field.attribute)
        if attribute is not None and not field.encoding.width:
            size += attribute.size or 0
    return size


# --- Never changing, whole --------------------------------------------------------------------------------------------


def _check_immutable(report: Report, key: BoundKey) -> None:
    for name in key.form.attributes:
        attribute = key.entity.attribute(name)
        if attribute is None or attribute.id:
            continue
        writers = report.changers(key.entity, name)
        if not writers and not attribute.mutable:
            continue
        reason = (
            f"{name_list(writers)} changes it: a delete and a put under another key" if writers else "it is mutable"
        )
        report.say_of_key(
            key,
            codes.CHANGING_KEY,
            f"`{name}` is in the table's key `{key.text}`, and {reason}",
            f"keep `{name}` out of the table's key, and sort by it in an index",
        )


def _check_presence(report: Report, key: BoundKey) -> None:
    """Attributes of a key that may be absent."""
    if key.slot != TABLE:
        for field in key.form.sk.fields if key.form.sk else ():
            _check_presence_in_index(report, key, field)
        return
    if key.facet.when or key.item.copy:
        return  # a copy that only some items have
    fields = [field for form in key.forms for field in form.fields]
    optional_names = [field.attribute for field in fields if _may_be_absent(key.entity, field)]
    if optional_names:
        report.say_of_key(
            key,
            codes.ABSENT,
            f"{name_list(optional_names)} may be absent, and is in the table's key `{key.text}`",
            "write `{attribute?}`, or use one that is always there",
        )


def _check_presence_in_index(report: Report, key: BoundKey, field: KeyField) -> None:
    """A field without which an item is not in an index, if a read should find it there."""
    is_tested = any(when.attribute == field.attribute for when in key.facet.when)
    if is_tested or not _may_be_absent(key.entity, field):
        return
    incomplete_reads = []
    for id_, answer in report.answers.items():
        plan = answer.plan
        # A read that gives a value wants only items that have one.
        if key.form in plan.facets and not _is_asked_for(plan.lookup, key.entity.name, field.attribute):
            incomplete_reads.append(id_)
    if incomplete_reads:
        reads = name_list(incomplete_reads)
        report.say_of_key(
            key,
            codes.ABSENT,
            f"{key.slot} lacks items without `{field.attribute}`: {reads} misses them",
            f"write `{{{field.attribute}?}}`, which gives it a place in the order",
        )


def _may_be_absent(entity: Entity, field: KeyField) -> bool:
    attribute = entity.attribute(field.attribute)
    return attribute is not None and attribute.optional and not field.optional


def _is_asked_for(ask: Lookup, entity: str, attribute: str) -> bool:
    name = ask.name(entity, attribute)
    return name in ask.given or (ask.within is not None and ask.within.attribute == name)


# --- Unique -----------------------------------------------------------------------------------------------------------


def _check_identity(report: Report, key: BoundKey) -> None:
    """A key with less than the id lets items overwrite each other; one with more lets two have the same id."""
    ids = [part.name for part in key.entity.id]
    absent_ids = [name for name in ids if name not in _distinguished_names(key)]
    whole_names = {field.attribute for form in key.forms for field in form.fields if not field.encoding.derived}
    further_names = sorted(set(key.form.attributes) - set(ids))
    if absent_ids and not identified(key.entity, whole_names):
        report.say_of_key(
            key,
            codes.NOT_APART,
            f"{name_list(absent_ids)} is not in the table's key `{key.text}`, so several items share a key",
            "add it to the end of the sort key",
        )
    elif ids and further_names and not _is_id_unique(report, key.entity):
        names = name_list(further_names)
        report.say_of_key(
            key,
            codes.LONGER_THAN_ID,
            f"two items with the same {name_list(ids)} and different {names} can both exist",
            "mark the id `generated`, use the id alone as the key, or add a guard",
        )


def _distinguished_names(key: BoundKey) -> set[str]:
    """The attributes by whose values a key tells items apart.

    A shard or a time bucket does not tell items apart. A folded value does, but only as far as the fold keeps it.
    """
    names = {part.name for part in key.entity.id if len(part.type.values) == 1}
    for form in key.forms:
        for field in form.fields:
            if field.encoding.folds or not field.encoding.derived:
                names.add(field.attribute)
    return names


def _is_id_unique(report: Report, entity: Entity) -> bool:
    """Whether no two items have the same id, whatever their keys are."""
    is_generated = any(part.generated for part in entity.id)
    return is_generated or {part.name for part in entity.id} in _guarded_groups(report, entity)


def _guarded_groups(report: Report, entity: Entity) -> list[set[str]]:
    return [set(guard.attributes) for guard in report.design.guards if guard.entity == entity.name]


def _check_unique(report: Report) -> None:
    """Values that the document declares unique, and that neither a key nor a guard keeps so."""
    for entity in report.workload.entities:
        base = report.base(entity.name)
        unique_groups = [set(base.form.attributes) if base else set(), *_guarded_groups(report, entity)]
        for group in dict.fromkeys(_declared_groups(report, entity)):
            if set(group) not in unique_groups:
                report.say(
                    codes.NOT_UNIQUE,
                    f"nothing keeps {name_list(list(group))} of {entity.name} unique",
                    f"add a guard, an item whose key is the {' and '.join(group)}",
                    entity.name,
                )


def _declared_groups(report: Report, entity: Entity) -> Iterator[tuple[str, ...]]:
    """The groups of attributes that are unique by the entity, or by a check of a write."""
    for attribute in entity.attributes:
        # A single id is the key itself, which is checked as such.
        if attribute.unique and (not attribute.id or len(entity.id) > 1):
            yield (attribute.name,)
    yield from entity.unique
    for write in report.writes:
        for check in write.checks:
            if not isinstance(check, Uniqueness) or (check.entity or write.first_entity) != entity.name:
                continue
            if entity.attribute(check.attribute):
                yield (*common_tenant(report.workload, entity.name), check.attribute)
