"""The solver's test whether a key serves a read is necessary: it says yes wherever the planner finds a plan.

`serves` looks at names only, and is asked for every candidate and every read. What it refuses, the solver never tries.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.design.brute_force import problem_of
from tests.design.wide_workloads import wide_workloads
from tests.design.workloads import workloads
from tests.place import examples

from prejoin.design.layout.lay_out import lay_out
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import plan_read
from prejoin.design.solver.candidates import TURNING, Candidate, SortAttribute
from prejoin.design.solver.needs import Need, ReadNeeds, read_needs
from prejoin.design.solver.placement import BASE, OWN, Placement, Selection, placement_answers
from prejoin.keys import Facet, Plan
from prejoin.workload.model import Entity, Workload


@st.composite
def keys_for(draw: st.DrawFn, entity: Entity, need: Need) -> Candidate:
    """A key of attributes that a read mentions, in any order, with the rest of the id at the end."""
    when = need.constants if draw(st.booleans()) else ()
    only = need.only if draw(st.booleans()) else ()
    fixed = {name for name, _ in when}  # all items of the index have these values, so its key is without them
    tail = [one.attribute for one in need.tail]
    mentioned = list(dict.fromkeys((*sorted(need.equal_names | need.filterable), *tail, *(a.name for a in entity.id))))
    order = draw(st.permutations(mentioned))
    # Half of the keys begin as the read asks.
    order = [*sorted(need.equal_names), *tail] if draw(st.booleans()) else order[: draw(st.integers(0, len(order)))]
    order = [name for name in order if name not in fixed]
    width = draw(st.integers(0, min(2, len(order))))
    names = [*order[width:], *(a.name for a in entity.id if a.name not in order)]
    kinds = {a.name: a.type.kind for a in entity.attributes}
    sk = tuple(SortAttribute(name, kinds[name] in TURNING and draw(st.booleans())) for name in names)
    return Candidate(entity.name, tuple(sorted(order[:width])), sk, when, only=only)


def facet_of(workload: Workload, asked: tuple[ReadNeeds, ...], candidate: Candidate) -> Facet:
    """The candidate as the key of an index, beside the ids of all entities in the table."""
    ids = [Placement(e.name, OWN, BASE, Candidate(e.name, tuple(a.name for a in e.id))) for e in workload.entities]
    placed = tuple(sorted([*ids, Placement(candidate.entity, OWN, 1, candidate)]))
    design = lay_out(problem_of(workload, asked), Selection(placed, (), (), 1, 0, 0))
    index = design.slots[1].name
    return next(f for f in planner_facets(design, workload) if (f.entity, f.slot) == (candidate.entity, index))


def assert_necessary(workload: Workload, data: st.DataObject) -> int:
    asked, _ = read_needs(workload)
    planned = 0
    for question in asked:
        if len(question.needs) != 1:
            continue
        need = question.needs[0]
        entity = workload.entity(need.entity)
        assert entity is not None
        candidate = data.draw(keys_for(entity, need))
        facet = facet_of(workload, asked, candidate)
        plan = plan_read(question.read, workload, [facet])
        # A partition of all items is only for reads that give nothing: that is a rule of good design, not of the planner.
        is_all = not candidate.pk and not candidate.sparse and bool(need.equal_names | need.filterable)
        if not isinstance(plan, Plan) or is_all:
            continue
        planned += 1
        place = Placement(entity.name, OWN, 1, candidate)
        assert placement_answers(place, need), (str(candidate), str(facet), str(question.ask), str(plan))
    return planned


@given(workloads(most_reads=6), st.data())
@settings(max_examples=examples(60))
def test_what_the_planner_serves_is_a_candidate(workload: Workload, data: st.DataObject) -> None:
    assert_necessary(workload, data)


@given(wide_workloads(), st.data())
@settings(max_examples=examples(60))
def test_what_the_planner_serves_is_a_candidate_in_wide_workloads(workload: Workload, data: st.DataObject) -> None:
    assert_necessary(workload, data)
