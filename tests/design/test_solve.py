"""The designer: what it chooses serves what keys can serve, with the fewest structures, the same way every time."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples
from tests.solutions import USERS
from tests.solutions import solve as solved

from prejoin.design.cost.objective import WEIGHTS, complexity
from prejoin.design.solver.candidates import Candidate, base_candidates, index_candidates
from prejoin.design.solver.needs import SortAttribute, read_needs
from prejoin.design.solver.placement import BASE, OWN, CollectionPlace, Placement, placement_answers
from prejoin.design.solver.program import integer_program
from prejoin.design.solver.program.component_search import collection_text, placement_text
from prejoin.design.solver.search import choose, problem_of
from prejoin.design.solver.solve import solve
from prejoin.types import STRING
from prejoin.workload.files import read_file
from prejoin.workload.model import Attribute, Direction, Entity, Input, Read, Result, Sort, Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])

EXPERTS = {  # The complexity of the published designs: an index is 1, a copy 2
    "aws_bank_payments": 1,
    "aws_bookmarks": 3,
    "aws_device_status": 2,
    "aws_gaming_profile": 0,
    "aws_invoices_bills": 5,
    "aws_online_shop": 2,
    "aws_session_management": 1,
    "aws_ski_resort": 1,
    "aws_social_network": 2,
    "debrie_ecommerce": 1,
    "debrie_instagram": 1,
    "debrie_session_store": 1,
    "electrodb_library": 3,
    "electrodb_shopping_mall": 2,
    "houlihan_flight_fares": 2,
    "onetable_overview": 1,
    "seed_music_ranking": 6,
}


def document(path: Path) -> Workload:
    return read_file(path).workload


def named(path: Path) -> str:
    return path.parent.name


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_read_that_is_counted_as_served_is_served_by_the_planner(path: Path) -> None:
    workload = document(path)
    _, refused = read_needs(workload)
    solution = solved(workload)
    lost = {*solution.chosen.unserved, *refused}
    design = solution.design
    reads = {read.id for read in workload.reads}
    assert [o.pattern for o in design.operations if o.pattern in reads - lost and not o.served] == []


@pytest.mark.parametrize("name", EXPERTS)
def test_no_more_complexity_than_the_expert_has(name: str) -> None:
    design = solved(document(ROOT / "tests" / "corpus" / name / "access-patterns.md")).design
    assert len(design.indexes) * WEIGHTS["index"] + len(design.copies) * WEIGHTS["copy"] <= EXPERTS[name]


@pytest.mark.everyday(1)
@pytest.mark.parametrize("path", DOCUMENTS[::4], ids=named)
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=3)
def test_the_order_of_the_document_changes_nothing(path: Path, random: object) -> None:
    workload = document(path)
    entities, reads, writes = list(workload.entities), list(workload.reads), list(workload.writes)
    for one in (entities, reads, writes):
        random.shuffle(one)  # type: ignore[attr-defined]
    shuffled = msgspec.structs.replace(workload, entities=tuple(entities), reads=tuple(reads), writes=tuple(writes))
    ours, theirs = solved(workload).design, solve(shuffled).design
    assert sorted(map(repr, ours.items)) == sorted(map(repr, theirs.items))
    # Their texts may differ: a solution that another process has pickled writes defaults, too.
    assert solve(workload).design == ours


ATTRIBUTES = ("id", "a", "b", "c")


@st.composite
def small(draw: st.DrawFn) -> Workload:
    """One entity with a few reads."""
    entity = Entity(
        "Thing",
        attributes=tuple(
            Attribute(n, STRING, id=n == "id", generated=False if n == "id" else None) for n in ATTRIBUTES
        ),
    )
    reads = []
    for number in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(ATTRIBUTES[1:]), unique=True, max_size=2))
        rest = [n for n in ATTRIBUTES[1:] if n not in names]
        sort = draw(st.sampled_from([None, *rest]))
        direction = draw(st.sampled_from(list(Direction)))
        reads.append(
            Read(
                f"R{number}",
                entities=("Thing",),
                inputs=tuple(map(Input, names)),
                result=Result.MANY,
                sort=(Sort(sort, direction),) if sort else (),
            )
        )
    return Workload(title="Small", entities=(entity,), reads=tuple(reads))


@given(small())
@settings(max_examples=examples(30))
def test_a_small_choice_is_as_good_as_the_best_of_all_choices(workload: Workload) -> None:
    asked, _ = read_needs(workload)
    (entity,) = workload.entities
    needs = [need for question in asked for need in question.needs]
    others = index_candidates(workload, entity, needs)
    bases = base_candidates(workload, entity, needs)

    def fits(indexes: int, copies: int, guards: int) -> bool:
        rooms = [(OWN, slot) for slot in range(1, indexes + 1)]
        rooms += [(copy, BASE) for copy in range(1, copies + 1)]
        for base in (one for one in bases if (set(one.attributes) > {"id"}) == bool(guards)):
            for filling in product([None, *others], repeat=len(rooms)):
                placed = [Placement("Thing", OWN, BASE, base)]
                placed += [Placement("Thing", i, s, c) for (i, s), c in zip(rooms, filling, strict=True) if c]
                if all(any(placement_answers(place, need) for place in placed) for need in needs):
                    return True
        return False

    least = next(
        total
        for total in range(2 * len(needs) + 1)
        for copies in range(total // 2 + 1)
        for guards in (0, 1)
        if total >= 2 * copies + guards and fits(total - 2 * copies - guards, copies, guards)
    )
    chosen = choose(problem_of(workload, asked))
    assert (chosen.unserved, chosen.least) == ((), least)


@pytest.mark.slow
def test_search_that_is_cut_off_reports_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly a step allowed a design comes out all the same, and no more is claimed than is known."""
    workload = document(ROOT / "examples" / "blog" / "access-patterns.md")
    best = solved(workload)
    assert best.ended
    assert best.chosen.least == complexity(workload, best.design)
    monkeypatch.setitem(integer_program._OPTIONS, "mip_max_nodes", 1)
    cut = solve(workload)
    assert cut.chosen.least <= best.chosen.least
    assert complexity(workload, best.design) <= complexity(workload, cut.design)
    assert cut.ended <= (cut.score == best.score)


@pytest.mark.slow
@pytest.mark.everyday(1)
@pytest.mark.parametrize("path", DOCUMENTS[::3], ids=named)
def test_seed_of_the_solver_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = document(path)
    usual = solved(workload).design
    monkeypatch.setitem(integer_program._OPTIONS, "random_seed", 4711)
    assert solve(workload).design == usual


def test_text_of_the_tie_break_is_frozen() -> None:
    """Another text would draw other weights and change the keys of documents that have a design already."""
    sort = (SortAttribute("placedAt", descending=True), SortAttribute("orderId"))
    key = Candidate("Order", ("userId",), sort, (("status", "OPEN"),), 1)
    assert placement_text(Placement("Order", 1, 2, key)) == (
        "Placed(entity='Order', item=1, slot=2, candidate=Candidate(entity='Order', pk=('userId',), "
        "sk=(Tail(attribute='placedAt', descending=True), Tail(attribute='orderId', descending=False)), "
        "when=(('status', 'OPEN'),), mingled=1, fixed=False))"
    )
    short = Candidate("User", (), (SortAttribute("userId"),))
    assert "pk=(), sk=(Tail(attribute='userId', descending=False),)," in placement_text(Placement("User", 0, 0, short))
    place = CollectionPlace("AP-1", 1, ("userId",), ())
    assert collection_text(place) == "Together(read='AP-1', slot=1, names=('userId',), rest=())"


def keyed(name: str) -> set[str]:
    """The keys of an example, without saying of which item they are."""
    design = solved(document(ROOT / "examples" / name / "access-patterns.md")).design
    return {f"{i.entity}: {f.pk[0]} / {f.sk[0]}" for i in design.items for f in i.facets}


def test_well_known_examples_get_the_usual_keys() -> None:
    shop = keyed("shop")
    assert {"User: USER#{userId} / #USER", "Order: USER#{userId} / ORDER#{placedAt}#{orderId}"} <= shop
    assert {"Order: ORDER#{orderId} / ORDER", "OrderItem: ORDER#{orderId} / ORDER_ITEM#{productId}"} <= shop
    assert "Order: STATUS#{status} / ORDER#{placedAt}#{orderId}" in shop
    assert "Order: ALL#ORDER#{placedAt:day} / ORDER#{placedAt}#{orderId}" in shop  # the last week, and no hot partition
    blog = keyed("blog")
    assert {"Post: POST#{postId} / #POST", "Comment: POST#{postId} / COMMENT#{createdAt}#{commentId}"} <= blog
    groups = keyed("groups")
    assert "Membership: USER#{userId} / MEMBERSHIP#{groupId}" in groups
    assert any(key.startswith("Membership: GROUP#{groupId} / ") for key in groups)


@pytest.mark.slow
def test_progress_is_reported() -> None:
    said: list[str] = []
    solve(document(ROOT / "examples" / "shop" / "access-patterns.md"), told=said.append)
    assert said == [
        "0 indexes",
        "1 index: a complexity of 10.5 is possible",
        "2 indexes: a complexity of 7.5 is possible",
        "3 indexes: a complexity of 6.5 is possible",
        "4 indexes: a complexity of 5.5 is possible",
    ]


def test_tests_know_every_module_that_calls_the_solver() -> None:
    """`solved_once` has to reach them all, or commands solve the same document again and again."""
    source = ROOT / "src"
    found = {
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if re.search(r"^from prejoin\.design\.solver\.solve import .*\bsolve\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert found == {module.__name__ for module in USERS}
