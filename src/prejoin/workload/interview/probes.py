"""Questions about patterns that people forget: list all, the other direction, counts, expiry."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.constructs.registry import ending_of
from prejoin.types import Kind, Type
from prejoin.workload import stubs
from prejoin.workload.interview.step import HELP, InterviewStep, Question, StepKind, Taken, put_entity, yes
from prejoin.workload.lookup import equalities
from prejoin.workload.model import Attribute, Entity, Read, Result, Verb, Workload, Write
from prejoin.workload.program.resolved_read import resolve_read

REMOVING_VERBS = frozenset({Verb.DELETE, Verb.EXPIRE})


def _probe(
    subject: str, key: str, words: str, is_missing: bool, pattern: Read | Write, is_likely: bool = False
) -> InterviewStep:
    """A question whose answer yes adds a pattern. Lists and writes get further questions."""

    def ask(w: Workload) -> Question:
        return Question(key, words, HELP[subject], "yes" if is_likely else "no", choices=("yes", "no"))

    def take(w: Workload, answer: str) -> Taken:
        if not yes(answer):
            return w, None
        is_read = isinstance(pattern, Read)
        kind = "reads" if is_read else "deletes" if subject == "delete" else "writes"
        w = stubs.add(w, kind, pattern)
        id_ = getattr(w, kind)[-1].id
        if isinstance(pattern, Read):
            return w, f"order of {id_}" if pattern.result is Result.MANY else None
        return w, f"inputs of {id_}"

    return InterviewStep(key, StepKind.PROBE, ask, take, lambda w: is_missing)


def reads(w: Workload) -> Iterator[InterviewStep]:
    """Likely reads that no pattern covers yet."""
    for e in w.entities:
        yield _fetch(w, e)
        for a in e.attributes:
            if a.unique and not a.id:
                words = f"Is {stubs.one(e.name)} ever found by its {a.name}?"
                is_missing = not _asked_by(w, e, a)
                yield _probe(
                    "find", f"find {e.name} by {a.name}", words, is_missing, stubs.get_by(e, a), is_likely=True
                )
    for e in w.entities:
        for parent, a in stubs.parents(w, e):
            yield from _probe_lists_under_parent(w, parent, e, a)
    for e in w.entities:
        for a in stubs.states(e):
            words = f"Does anything list the {stubs.plural(e.name)} in one state, by {a.name}?"
            yield _probe("state", f"list {e.name} in one {a.name}", words, not _asked_by(w, e, a), stubs.list_by(e, a))
        words = f"Does anything list all {stubs.plural(e.name)} there are?"
        is_missing = not e.singleton and not any(e.name in r.entities and not equalities(r) for r in w.reads)
        yield _probe("all", f"list all {e.name}", words, is_missing, stubs.list_all(e))


def _fetch(w: Workload, e: Entity) -> InterviewStep:
    ids = set(e.id_names)
    by = " and ".join(a.name for a in e.id)
    words = f"Is one {e.name} fetched by its {by}?" if by else f"Is the {e.name} fetched?"
    is_missing = not any(e.name in r.entities and ids <= set(equalities(r)) for r in w.reads)
    return _probe("fetch", f"fetch {e.name}", words, is_missing, stubs.get(e), is_likely=True)


def _asked_by(w: Workload, entity: Entity, attribute: Attribute) -> bool:
    """Whether some read finds items of the entity by the attribute."""
    return any(attribute.name in resolve_read(w, read).given(entity.name) for read in w.reads)


def _probe_lists_under_parent(w: Workload, parent: Entity, e: Entity, a: Attribute) -> Iterator[InterviewStep]:
    are_several = e.id_names != (a.name,)
    words = f"Does anything list the {stubs.plural(e.name)} of one {parent.name}, by {a.name}?"
    is_missing = are_several and not _asked_by(w, e, a)
    yield _probe(
        "list", f"list {e.name} by {a.name}", words, is_missing, stubs.list_under(e, parent, a), is_likely=True
    )
    words = f"Is the number of {stubs.plural(e.name)} of one {parent.name} shown anywhere?"
    is_missing = are_several and not any(r.result is Result.COUNT and e.name in r.entities for r in w.reads)
    yield _probe("count", f"count {e.name} by {a.name}", words, is_missing, stubs.count_under(e, parent, a))
    words = f"Is one {parent.name} ever needed together with its {stubs.plural(e.name)}, in one call?"
    is_missing = parent.name != e.name and not any({parent.name, e.name} <= set(r.entities) for r in w.reads)
    yield _probe(
        "together", f"fetch {parent.name} with {e.name} by {a.name}", words, is_missing, stubs.together(parent, e)
    )


def writes(w: Workload) -> Iterator[InterviewStep]:
    """Likely writes that no pattern covers yet."""
    actions = [x for p in w.changing for x in p.actions]
    for e in w.entities:
        words = f"Does the application create {stubs.plural(e.name)}?"
        is_missing = not any(x.entity == e.name and x.verb.may_create for x in actions)
        yield _probe("create", f"create {e.name}", words, is_missing, stubs.create(e), is_likely=True)
        changing_names = [a.name for a in e.attributes if a.mutable and not a.id]
        if changing_names:
            words = f"Can {', '.join(changing_names)} of {stubs.one(e.name)} change after it was created?"
            is_missing = not any(x.entity == e.name and x.verb in {Verb.UPDATE, Verb.UPSERT, Verb.PUT} for x in actions)
            yield _probe("update", f"update {e.name}", words, is_missing, stubs.update(e), is_likely=True)


def deletes(w: Workload) -> Iterator[InterviewStep]:
    """Entities that are never deleted."""
    for e in w.entities:
        is_removed = any(x.entity == e.name and x.verb in REMOVING_VERBS for p in w.changing for x in p.actions)
        is_missing = not (is_removed or e.singleton or ending_of(e) is not None)
        words = f"Is {stubs.one(e.name)} ever deleted?"
        yield _probe("delete", f"delete {e.name}", words, is_missing, stubs.delete(e))
        yield _expiry(e.name, is_missing)


def _expiry(name: str, is_missing: bool) -> InterviewStep:
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
        entity = w.entity(name)
        if not yes(answer) or entity is None:
            return w, None
        existing = entity.attribute("expiresAt")
        expiry_attribute = (
            replace(existing, ttl=True) if existing else Attribute("expiresAt", Type(Kind.DATETIME), ttl=True)
        )
        other_attributes = tuple(a for a in entity.attributes if a.name != expiry_attribute.name)
        return put_entity(w, replace(entity, attributes=(*other_attributes, expiry_attribute))), None

    return InterviewStep(key, StepKind.PROBE, ask, take, lambda w: is_missing)
