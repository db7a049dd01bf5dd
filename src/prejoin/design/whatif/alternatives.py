"""Other designs for the same document, by one more decision; and the table without one pattern, which it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.design.layout.key_words import KeyWords, upper
from prejoin.design.layout.lay_out import guards_of
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.phrases import count, listed, natural_order
from prejoin.design.pins import pins_of
from prejoin.design.solver.candidates import Candidate, base_candidates
from prejoin.design.solver.needs import Need, read_needs
from prejoin.design.solver.placement import Placement, placement_answers
from prejoin.design.solver.search import problem_of
from prejoin.design.solver.taste import Taste
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.attempt import Failure, Outcome, WhatIf, compared_price, shape_of, without_structure
from prejoin.design.whatif.change import Change
from prejoin.workload.model import AtMost, Entity, FixedKey, Minimise, Under, Without

MOST_ALTERNATIVES = 8
"""The most alternatives that are attempted for one explanation."""
TABLE_TOPIC = "the table"
_CHEAPEST = Minimise("money")


def without_pattern(what_if: WhatIf, pattern_id: str) -> Alternative:
    """The table without an access pattern: the difference is the pattern's total cost."""
    if what_if.workload.pattern(pattern_id) is None:
        raise LookupError(f"there is no access pattern {pattern_id}")
    return describe(what_if, what_if.attempt(Change(f"without {pattern_id}", removed_names=(pattern_id,))))


def alternative_designs(what_if: WhatIf, limit: int = MOST_ALTERNATIVES) -> dict[str, list[Alternative]]:
    """Alternatives by their topics: the table, `copies of Order`, and `Order` for its key in the table.

    At most `limit` are attempted: those for the table first, then those that may save most.
    """
    of_table = list(table_changes(what_if))[:limit]
    alternatives = {TABLE_TOPIC: _different_alternatives(what_if, of_table)}
    attempts_left = limit - len(of_table)
    if attempts_left:
        changes = {**copy_changes(what_if), **key_changes(what_if)}
        best = what_if.best_changes(changes.values(), attempts_left)
        for topic, change in changes.items():
            if change in best:
                alternatives[topic] = _different_alternatives(what_if, [change])
    return alternatives


def copies_topic(entity_name: str) -> str:
    return f"copies of {entity_name}"


def describe(what_if: WhatIf, outcome: Outcome) -> Alternative:
    """An outcome as a sentence, with all differences."""
    summary, caution = outcome.change.summary, outcome.change.caution
    if outcome.design is None:
        is_decided = bool(what_if.workload.decisions) or what_if.kept is not None
        is_contradiction = is_decided and outcome.failure is Failure.CONTRADICTION
        problem = "the decisions do not allow it" if is_contradiction else "no design was found"
        return Alternative(f"{summary}: {problem}{caution}")
    differences = [shape_of(outcome.design), _price_words(outcome)]
    if outcome.reading_writes:
        differences.append(f"{listed(outcome.reading_writes)} would read more before writing")
    if outcome.lost_patterns:
        differences.append(f"{listed(outcome.lost_patterns)} not served")
    if outcome.gained_patterns:
        differences.append(f"{listed(outcome.gained_patterns)} served")
    text = f"{summary}: {', '.join(differences)}{caution}"
    return Alternative(text, outcome.structures, outcome.dollars, outcome.lost_patterns)


def _price_words(outcome: Outcome) -> str:
    parts = []
    if outcome.structures:
        number = count(abs(outcome.structures), "structure")
        parts.append(f"{number} {'more' if outcome.structures > 0 else 'fewer'}")
    if round(outcome.dollars, 2):
        parts.append(compared_price(outcome.dollars))
    return " and ".join(parts) or "the same price"


def _different_alternatives(what_if: WhatIf, changes: Sequence[Change]) -> list[Alternative]:
    """The outcomes that differ from the design as it is, each once. A cheapest design has to be cheaper."""
    alternatives: dict[object, Alternative] = {}
    for change in changes:
        outcome = what_if.attempt(change)
        is_same = outcome.design is not None and _keys(outcome.design) == _keys(what_if.design)
        # The cheapest design may be the design as it is, made of other keys.
        is_useless = _CHEAPEST in change.pins and round(outcome.dollars, 2) >= 0
        if not is_same and not is_useless:
            alternative = describe(what_if, outcome)
            alternatives.setdefault((alternative.structures, alternative.dollars, alternative.unserved), alternative)
    return list(alternatives.values())


def _keys(design: Design) -> list[object]:
    return [(item.entity, item.copy, item.facets) for item in design.items]


# --- Changes --------------------------------------------------------------------------------------------------------


def table_changes(what_if: WhatIf) -> Iterator[Change]:
    """One index fewer, no copies, least money. A design that is kept is not reduced."""
    design = what_if.design
    approved_design = what_if.kept or Design("")
    if len(design.indexes) > len(approved_design.indexes):
        limit = sum(not slot.local for slot in design.indexes) - 1
        yield Change(f"at most {count(limit, 'GSI')}", (AtMost("GSIs", limit),))
    if design.copies and not approved_design.copies:
        yield Change("no copies", (AtMost("copies", 0),))
    if _CHEAPEST not in pins_of(what_if.workload, Minimise):
        yield Change("the lowest cost, with any number of structures", (_CHEAPEST,))


def copy_changes(what_if: WhatIf) -> dict[str, Change]:
    """No copies of an entity, by topic. Those of a design that is kept stay."""
    kept_names = {item.entity for item in what_if.kept.copies} if what_if.kept else set()
    changes = {}
    for item in what_if.design.copies:
        if item.entity not in kept_names:
            # Reads that only the copy serves would be given up, with the structures that they use.
            smaller = map_patterns(without_structure(what_if.design, item.name), what_if.workload)
            unserved_reads = tuple(sorted(smaller.unserved))
            pin = Without("copies", item.entity)
            changes[copies_topic(item.entity)] = Change(
                f"no copy of {item.entity}", (pin,), spared_reads=unserved_reads
            )
    return changes


def key_changes(what_if: WhatIf) -> dict[str, Change]:
    """The next best key of each entity in the table, by topic: the one that serves most of its reads."""
    unserved_reads = what_if.design.unserved  # no key serves these
    all_needs, _ = read_needs(what_if.workload)
    questions = [question for question in all_needs if question.read.id not in unserved_reads]
    changes = {}
    for placement in _free_keys(what_if):
        own_needs: list[Need] = []
        for question in questions:
            own_needs += [need for need in question.needs if need.entity == placement.entity]
        change = _next_key(what_if, placement, own_needs)
        if change:
            changes[placement.entity] = change
    return changes


def _free_keys(what_if: WhatIf) -> list[Placement]:
    """The keys in the table that nothing decides, in the order of the document."""
    workload = what_if.workload
    pins: list[FixedKey | Under] = [*pins_of(workload, FixedKey), *pins_of(workload, Under)]
    decided_entities = {pin.entity for pin in pins}
    own_keys = [placement for placement in what_if.solution.chosen.placed if placement.is_base]
    free_keys = {key.entity: key for key in own_keys if not key.candidate.fixed}
    undecided_names = [entity.name for entity in workload.entities if entity.name not in decided_entities]
    return [free_keys[name] for name in undecided_names if name in free_keys]


def _next_key(what_if: WhatIf, own_key: Placement, needs: Sequence[Need]) -> Change | None:
    """Another key in the table: of those that serve other reads, the one that serves most."""
    entity = what_if.workload.entity(own_key.entity)
    assert entity is not None
    reads = _reads_served(own_key, needs)
    taste = Taste(what_if.workload)
    ranks = {}
    for candidate in base_candidates(what_if.workload, entity, needs):
        placement = replace(own_key, candidate=candidate)
        other_reads = _reads_served(placement, needs)
        if other_reads and other_reads != reads:
            ranks[placement] = (-len(other_reads), taste(placement), len(candidate.sk), candidate)
    if not ranks:
        return None
    best = min(ranks, key=ranks.__getitem__)
    best_reads = _reads_served(best, needs)
    pin = _fixed_key(what_if, best)
    return Change(
        f"the key `{pin.pk}` / `{pin.sk}`, which serves {listed(best_reads)}",
        (pin,),
        caution=_repeated_ids(what_if, entity, best.candidate),
        spared_reads=tuple(read_id for read_id in best_reads if read_id not in reads),
    )


def _reads_served(placement: Placement, needs: Sequence[Need]) -> list[str]:
    return natural_order(need.read for need in needs if placement_answers(placement, need))


def _fixed_key(what_if: WhatIf, placement: Placement) -> FixedKey:
    """The decision that gives an entity a key."""
    separator = what_if.design.separator
    problem = problem_of(what_if.workload, read_needs(what_if.workload)[0], what_if.kept)
    words = KeyWords(problem, what_if.solution.chosen, separator)
    # A decision fixes the words, too, so the key is written as the layout would write it for one type.
    sort_parts = [f"{{{part.attribute}}}" for part in placement.candidate.sk]
    sort_key = separator.join([upper(placement.entity), *sort_parts])
    return FixedKey(placement.entity, words.partition(placement), sort_key)


def _repeated_ids(what_if: WhatIf, entity: Entity, candidate: Candidate) -> str:
    """A caution if the id of an entity needs a guard with a key: a decided key has none."""
    ids = [attribute.name for attribute in entity.id]
    for guard in guards_of(what_if.workload, entity, candidate):
        if set(ids) == {*guard.attributes}:
            return f", and two {entity.name} items of the same {listed(ids)} could exist"
    return ""
