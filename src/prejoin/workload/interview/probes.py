"""Questions about patterns that people forget: list all, the other direction, counts, expiry."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.types import Kind, Type
from prejoin.workload import stubs
from prejoin.workload.interview.step import HELP, InterviewStep, Question, StepKind, Taken, put_entity, yes
from prejoin.workload.lookup import bindings, equalities
from prejoin.workload.model import Attribute, Entity, Read, Result, Verb, Workload, Write

GONE = frozenset({Verb.DELETE, Verb.EXPIRE})


def _probe(subject: str, key: str, words: str, wanted: bool, made: Read | Write, likely: bool = False) -> InterviewStep:
    """A question whose answer yes adds a pattern. Lists and writes get further questions."""

    def ask(w: Workload) -> Question:
        return Question(key, words, HELP[subject], "yes" if likely else "no", choices=("yes", "no"))

    def take(w: Workload, answer: str) -> Taken:
        if not yes(answer):
            return w, None
        reading = isinstance(made, Read)
        kind = "reads" if reading else "deletes" if subject == "delete" else "writes"
        w = stubs.add(w, kind, made)
        id_ = getattr(w, kind)[-1].id
        if isinstance(made, Read):
            return w, f"order of {id_}" if made.result is Result.MANY else None
        return w, f"inputs of {id_}"

    return InterviewStep(key, StepKind.PROBE, ask, take, lambda w: wanted)


def reads(w: Workload) -> Iterator[InterviewStep]:
    """Likely reads that no pattern covers yet."""
    for e in w.entities:
        yield _fetch(w, e)
        for a in e.attributes:
            if a.unique and not a.id:
                words = f"Is {stubs.one(e.name)} ever found by its {a.name}?"
                wanted = not _asked_by(w, e, a)
                yield _probe("find", f"find {e.name} by {a.name}", words, wanted, stubs.get_by(e, a), likely=True)
    for e in w.entities:
        for parent, a in stubs.parents(w, e):
            yield from _under(w, parent, e, a)
    for e in w.entities:
        for a in stubs.states(e):
            words = f"Does anything list the {stubs.plural(e.name)} in one state, by {a.name}?"
            yield _probe("state", f"list {e.name} in one {a.name}", words, not _asked_by(w, e, a), stubs.list_by(e, a))
        words = f"Does anything list all {stubs.plural(e.name)} there are?"
        wanted = not e.singleton and not any(e.name in r.entities and not equalities(r) for r in w.reads)
        yield _probe("all", f"list all {e.name}", words, wanted, stubs.list_all(e))


def _fetch(w: Workload, e: Entity) -> InterviewStep:
    ids = {a.name for a in e.id}
    by = " and ".join(a.name for a in e.id)
    words = f"Is one {e.name} fetched by its {by}?" if by else f"Is the {e.name} fetched?"
    wanted = not any(e.name in r.entities and ids <= set(equalities(r)) for r in w.reads)
    return _probe("fetch", f"fetch {e.name}", words, wanted, stubs.get(e), likely=True)


def _asked_by(w: Workload, entity: Entity, attribute: Attribute) -> bool:
    """Whether some read finds items of the entity by the attribute."""
    return any(
        bindings(w, r.entities, name).get(entity.name) == attribute.name
        for r in w.reads
        if entity.name in r.entities
        for name in equalities(r)
    )


def _under(w: Workload, parent: Entity, e: Entity, a: Attribute) -> Iterator[InterviewStep]:
    several = [x.name for x in e.id] != [a.name]
    words = f"Does anything list the {stubs.plural(e.name)} of one {parent.name}, by {a.name}?"
    wanted = several and not _asked_by(w, e, a)
    yield _probe("list", f"list {e.name} by {a.name}", words, wanted, stubs.list_under(e, parent, a), likely=True)
    words = f"Is the number of {stubs.plural(e.name)} of one {parent.name} shown anywhere?"
    wanted = several and not any(r.result is Result.COUNT and e.name in r.entities for r in w.reads)
    yield _probe("count", f"count {e.name} by {a.name}", words, wanted, stubs.count_under(e, parent, a))
    words = f"Is one {parent.name} ever needed together with its {stubs.plural(e.name)}, in one call?"
    wanted = parent.name != e.name and not any({parent.name, e.name} <= set(r.entities) for r in w.reads)
    yield _probe("together", f"fetch {parent.name} with {e.name} by {a.name}", words, wanted, stubs.together(parent, e))


def writes(w: Workload) -> Iterator[InterviewStep]:
    """Likely writes that no pattern covers yet."""
    actions = [x for p in (*w.writes, *w.deletes) for x in p.actions]
    for e in w.entities:
        words = f"Does the application create {stubs.plural(e.name)}?"
        wanted = not any(x.entity == e.name and x.verb in {Verb.CREATE, Verb.PUT, Verb.UPSERT} for x in actions)
        yield _probe("create", f"create {e.name}", words, wanted, stubs.create(e), likely=True)
        changing = [a.name for a in e.attributes if a.mutable and not a.id]
        if changing:
            words = f"Can {', '.join(changing)} of {stubs.one(e.name)} change after it was created?"
            wanted = not any(x.entity == e.name and x.verb in {Verb.UPDATE, Verb.UPSERT, Verb.PUT} for x in actions)
            yield _probe("update", f"update {e.name}", words, wanted, stubs.update(e), likely=True)


def deletes(w: Workload) -> Iterator[InterviewStep]:
    """Entities that are never deleted."""
    for e in w.entities:
        gone = any(x.entity == e.name and x.verb in GONE for p in (*w.writes, *w.deletes) for x in p.actions)
        wanted = not (gone or e.singleton or any(a.ttl for a in e.attributes))
        words = f"Is {stubs.one(e.name)} ever deleted?"
        yield _probe("delete", f"delete {e.name}", words, wanted, stubs.delete(e))
        yield _expiry(e.name, wanted)


def _expiry(name: str, wanted: bool) -> InterviewStep:
    key = f"expiry of {name}"

    def ask(w: Workload) -> Question:
        return Question(
            key,
            f"Do old {stubs.plural(name)} go by themselves after a time?",
            HELP["expiry"],
            "no",
            choices=("yes", "no"),
        )

    def take(w: Workload, answer: str) -> Taken:
        found = w.entity(name)
        if not yes(answer) or found is None:
            return w, None
        there = found.attribute("expiresAt")
        made = replace(there, ttl=True) if there else Attribute("expiresAt", Type(Kind.DATETIME), ttl=True)
        others = tuple(a for a in found.attributes if a.name != made.name)
        return put_entity(w, replace(found, attributes=(*others, made))), None

    return InterviewStep(key, StepKind.PROBE, ask, take, lambda w: wanted)
