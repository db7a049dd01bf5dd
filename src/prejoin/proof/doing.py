"""The steps of a write done through the client: alone, in a transaction, in a batch, as the operation says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

from prejoin.design.mapping.addressing import known, known_of_checked
from prejoin.design.model import Call
from prejoin.proof.asking import test
from prejoin.proof.data import Values
from prejoin.proof.steps import Case, Step, about
from prejoin.table import Changes, one_of
from prejoin.workload.model import Check, CheckKind, Entity, Op, Verb


def do(case: Case, steps: Sequence[Step]) -> None:
    """All steps of one call."""
    client = case.bench.client
    for name in sorted(case.found_first):
        own = [s for s in steps if s.entity.name == name]
        if own:
            find(case, name, known(case.bench.workload, case.write, own[0].action), [s.item for s in own])
        else:
            names = known_of_checked(case.bench.workload, case.write, case.bench.entity(name))
            find(case, name, names, [case.checked[name]])
    if case.checked or (case.write.atomic is not False and len(steps) > 1):
        with client.transaction() as transaction:
            for step in steps:
                send(case, transaction, step)
            for name, item in case.checked.items():
                entity = case.bench.entity(name)
                cls = case.bench.built.classes[name]
                if name in case.absent:
                    transaction.check_absent(cls, **_key(case, entity, item))
                    continue
                conditions = [c for c in case.write.checks if c.entity == name]
                transaction.check(cls, where=_where(case, entity, conditions), **_key(case, entity, item))
        return
    batched = _batched(case)
    for step in steps:
        if step.entity.name not in batched:
            send(case, client, step)
    for name in batched:
        _batch(case, [s for s in steps if s.entity.name == name])


def find(case: Case, name: str, names: Iterable[str], items: Sequence[Values]) -> None:
    """The request by which the application finds what it is to write or to check; it has to find these items."""
    bench = case.bench
    entity = bench.entity(name)
    names = sorted(names)
    request = next(r for r in case.operation.finds if name in r.entities)
    filtered = sorted(text.partition(" ")[0] for text in request.filters)
    python = bench.built.names[name]
    tests = [(python[n], list({id(i.get(n)): i.get(n) for i in items}.values())) for n in filtered]
    where = (lambda r: reduce(and_, (one_of(getattr(r, n), v) for n, v in tests))) if tests else None
    asked = [{n: item.get(n) for n in names if n not in filtered} for item in items]
    found: list[Values] = []
    for at, equal in enumerate(asked):
        if equal not in asked[:at]:
            page = bench.client.query(bench.built.classes[name], filter=where, **bench.named(name, equal))
            found += [bench.values_as(name, record) for record in page.items]
    for item in items:
        key = {n: item.get(n) for n in _base(case, entity)}
        if not any(all(other.get(n) == v for n, v in key.items()) for other in found):
            raise LookupError(f"the {name} {key} is not found by {', '.join(names)}")


def _batched(case: Case) -> list[str]:
    found = [e for r in case.operation.requests if r.call is Call.BATCH_WRITE for e in r.entities]
    return list(dict.fromkeys(found))


def _batch(case: Case, steps: Sequence[Step]) -> None:
    bench = case.bench
    name = steps[0].entity.name if steps else ""
    put = [bench.record(name, s.after or {}) for s in steps if s.action.verb is Verb.PUT]
    if put:
        bench.client.put_many(put)
    gone = [_key(case, s.entity, s.item) for s in steps if s.action.verb is Verb.DELETE]
    if gone:
        bench.client.delete_many(bench.built.classes[name], gone)


def send(case: Case, writer: Any, step: Step) -> None:
    """One step, by a client or in a transaction."""
    bench, entity = case.bench, step.entity
    cls = bench.built.classes[entity.name]
    read = entity.name in case.read_first
    if step.action.verb is Verb.CREATE:
        writer.insert(bench.record(entity.name, step.after or {}))
        return
    where = _where(case, entity, case.write.checks)
    if step.action.verb is Verb.PUT:
        writer.put(bench.record(entity.name, step.after or {}), where=where, read=read)
        return
    given = _given(case, step)
    if step.action.verb is Verb.DELETE:
        writer.delete(cls, where=_all(where, _there(case, entity)), read=read, **given)
        return
    changed = Changes(
        bench.named(entity.name, dict(step.changed.sets)),
        bench.named(entity.name, dict(step.changed.adds)),
        frozenset(bench.named(entity.name, dict.fromkeys(step.changed.removes))),
    )
    writer.apply(cls, changed, where=where, read=read, **given)


def _given(case: Case, step: Step) -> dict[str, Any]:
    """What an application says of an item that it changes: its key, and what else it knows of it."""
    names = set(_base(case, step.entity))
    before = step.before or {}
    if step.entity.name in case.found_first:
        names |= {a.name for a in step.entity.attributes if a.name in before or a.optional}
    else:
        names |= known(case.bench.workload, case.write, step.action)
    # What is changed is said only where a condition says what it was.
    return case.bench.named(step.entity.name, {name: before.get(name) for name in sorted(names)})


def _base(case: Case, entity: Entity) -> tuple[str, ...]:
    facets = case.bench.facets
    return next(f for f in facets if f.entity == entity.name and f.slot == "table" and not f.copy).attributes


def _key(case: Case, entity: Entity, item: Values) -> dict[str, Any]:
    return case.bench.named(entity.name, {name: item.get(name) for name in _base(case, entity)})


def _there(case: Case, entity: Entity) -> Callable[[Any], Any] | None:
    """That an item is there, where a delete is to be refused if it is not."""
    if not any(c.kind is CheckKind.EXISTS and _meant(case, c) == entity.name for c in case.write.checks):
        return None
    name = case.bench.built.names[entity.name][_base(case, entity)[0]]
    return lambda record: test(Op.EXISTS, getattr(record, name), ())


def _all(*tests: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    said = [test for test in tests if test is not None]
    return (lambda record: reduce(and_, (test(record) for test in said))) if said else None


def _meant(case: Case, check: Check) -> str:
    first = case.write.entities[0] if case.write.entities else case.write.actions[0].entity
    return check.entity or first


def _where(case: Case, entity: Entity, checks: Iterable[Check]) -> Callable[[Any], Any] | None:
    own = []
    for check in checks:
        attribute = about(check, entity)
        if attribute is not None and check.op is not None:
            name = case.bench.built.names[entity.name][attribute.name]
            own.append((check.op, name, [case.value(v, attribute) for v in check.values]))
    if not own:
        return None
    return lambda record: reduce(and_, (test(op, getattr(record, name), values) for op, name, values in own))
