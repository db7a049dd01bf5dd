"""Small documents that random workloads were reduced to, each of which was designed or proven wrongly once."""

from __future__ import annotations

from tests.design.claims import false_claims
from tests.design.texts import filters_of
from tests.proof.league import NOW

from prejoin.design.explain import explain
from prejoin.design.model import Call, Design
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import has_errors
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

_READS = "| ID | Entity | Input Parameters | Result | Sort | Paginated | Multi-Entity |"
_WRITES = "| ID | Entity | Input Parameters | Items Written | Conditions |"


def _read(
    entities: dict[str, list[str]],
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    tenant: str = "",
    many: str = "",
) -> Workload:
    """The workload of a document; of the last entity there are `many` items."""
    text = "# Found\n\n" + (f"## Context\n\n- **Tenant**: {tenant}\n\n" if tenant else "") + "## Entities\n\n"
    for name, attributes in entities.items():
        text += f"### {name}\n\n- **Attributes**:\n" + "".join(f"  - {one}\n" for one in attributes) + "\n"
    text += f"- **Cardinality**: {many}\n\n" if many else ""
    text += "## Access Patterns\n\n"
    for title, head, rows in (("Reads", _READS, reads), ("Writes", _WRITES, writes)):
        if rows:
            line = "| " + " | ".join(["---"] * (head.count("|") - 1)) + " |"
            text += f"### {title}\n\n" + "\n".join([head, line, *(f"| {row} |" for row in rows)]) + "\n\n"
    reading = read_text(text, "md")
    assert not has_errors(reading.diagnostics), reading.diagnostics
    return reading.workload


def designed(
    entities: dict[str, list[str]],
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    tenant: str = "",
    many: str = "",
) -> Design:
    """The design of a document, all of whose patterns are served and proven."""
    workload = _read(entities, reads, writes, tenant, many)
    solution = solve(workload)
    assert [o.problem for o in solution.design.operations if not o.served] == []
    assert false_claims(workload, solution, explain(workload, solution)) == []
    with Embedded() as engine:
        proof = prove(workload, solution.design, engine, now=NOW)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    assert proof.findings == ()
    assert [one.pattern for one in proof.patterns if one.units != one.predicted] == []
    return solution.design


ALPHA = ["`alphaId` (string, generated)", "`alphaAt` (datetime, immutable)"]
BETA = ["`alphaId` (string, id, → Alpha)", "`betaId` (string, natural)", "`betaAt` (datetime, immutable)"]


def test_items_of_several_entities_in_one_order_are_not_found_one_by_one() -> None:
    """A delete that knows the tenant's id only needs a key that it knows, or an index."""
    design = designed(
        {"Alpha": ALPHA, "Gamma": ["`gammaId` (integer, id)", "`gammaAt` (datetime, immutable)"]},
        ("AP-001 | Alpha, Gamma | Alpha.alphaAt / Gamma.gammaAt between | Collection | - | Yes | Collection",),
        ("AP-020 | Alpha | alphaId | delete Alpha | -",),
        tenant="alphaId → Alpha",
    )
    assert [len(operation.requests) for operation in design.operations] == [1, 1]


def test_count_of_a_list_of_values_is_the_sum() -> None:
    entity = ["`betaId` (string, generated)", "`rank` (integer, immutable, max 999)", "`title` (string, immutable)"]
    designed({"Beta": entity}, ("AP-001 | Beta | title[], rank >= | Count | - | No | No",))


def test_list_of_values_beside_a_condition_of_a_sparse_index() -> None:
    entity = ["`alphaId` (string, generated)", "`rank` (integer, immutable, max 999)", "`note` (string, optional)"]
    designed({"Alpha": entity}, ("AP-001 | Alpha | rank[], note not exists | Collection | - | Yes | No",))


def test_optional_input_that_completes_a_key_is_a_filter_of_another() -> None:
    """Without it there is no key to get, so the read is a Query in any case."""
    design = designed(
        {"Alpha": ALPHA, "Beta": BETA},
        ("AP-001 | Beta | betaId, alphaId? | Collection | betaAt DESC | Yes | No",),
        ("AP-020 | Beta | Beta | create Beta | -",),
    )
    (request,) = design.operations[0].requests
    assert (request.call, request.slot, filters_of(request)) == (Call.QUERY, "gsi1", ["alphaId = {alphaId}"])


def test_optional_id_beside_a_condition_of_a_sparse_index() -> None:
    entity = [
        "`alphaId` (string, generated)",
        "`state` (OPEN | HELD | DONE, mutable)",
        "`due` (date, optional, mutable)",
    ]
    design = designed(
        {"Beta": ["`alphaId` (string, id, → Alpha)"], "Alpha": [*entity, "`rank` (integer, mutable)"]},
        ("AP-001 | Alpha | state = OPEN, alphaId?, due exists | Collection (alphaId, state) | rank DESC | No | No",),
        many="~30K total",
    )
    assert design.operations[0].requests[0].slot == "gsi1"


def test_two_optional_inputs_may_be_given_in_any_combination() -> None:
    entity = ["`alphaId` (string, generated)", "`one` (string, immutable)", "`two` (string, immutable)"]
    entity += ["`three` (string, immutable)"]
    designed({"Alpha": entity}, ("AP-001 | Alpha | one, two?, three? | Collection | - | Yes | No",))


def test_join_by_a_reference_that_the_read_gives() -> None:
    entities = {"Alpha": ["`alphaId` (integer, id)"], "Beta": ["`alphaId` (integer, id, → Alpha)"]}
    design = designed(entities, ("AP-001 | Beta, Alpha | alphaId | Single | - | No | Join",))
    assert [request.call for request in design.operations[0].requests] == [Call.GET, Call.BATCH_GET]


def test_join_with_the_tenant_itself_is_not_served() -> None:
    workload = _read(
        {"Alpha": ["`alphaId` (integer, natural)"], "Beta": ["`betaId` (string, generated)"]},
        ("AP-001 | Beta, Alpha | - | Collection | - | Yes | Join",),
        tenant="alphaId → Alpha",
    )
    assert [o.problem for o in solve(workload).design.operations] == ["no attribute of Beta says which Alpha is meant"]


def test_list_of_ids_of_several_entities_is_not_served() -> None:
    workload = _read(
        {"Alpha": ALPHA, "Beta": BETA}, ("AP-001 | Alpha, Beta | alphaId[] | Collection | - | Yes | Collection",)
    )
    solution = solve(workload)
    assert [o.problem for o in solution.design.operations] == [
        "alphaId is a list, and several kinds of items are read under one key at a time"
    ]
    assert false_claims(workload, solution, explain(workload, solution)) == []


def test_join_from_a_partition_in_shards() -> None:
    entities = {"Alpha": ["`alphaId` (string, natural)"], "Beta": ["`alphaId` (string, id, → Alpha)"]}
    reads = ("AP-001 | Beta, Alpha | - | Collection | - | Yes | Join",)
    assert designed(entities, reads, many="~30K per Alpha").operations[0].requests[0].shards > 1


def test_index_holds_attributes_of_filters_that_are_in_keys_of_the_table() -> None:
    entity = ["`alphaId` (string, generated)", "`state` (OPEN | DONE, mutable)", "`code` (string, unique, immutable)"]
    design = designed(
        {"Alpha": entity}, ("AP-001 | Alpha | state, code? | Collection (alphaId, state) | - | Yes | No",)
    )
    assert filters_of(design.operations[0].requests[0]) == ["code = {code}"]


def test_natural_index_keys_are_not_filtered() -> None:
    """DynamoDB refuses a filter on an attribute of the key: without the range, nothing else tests it."""
    entity = ["`betaId` (string, natural)", "`state` (OPEN | DONE, mutable)", "`title` (string, immutable)"]
    designed(
        {"Beta": [*entity, "`hits` (integer, mutable, default=0)"]},
        ("AP-001 | Beta | state, title, hits? between | Collection | hits ASC | No | No",),
        ("AP-020 | Beta | betaId | update Beta (hits += 1) | -",),
    )


def test_count_of_several_entities_counts_all_of_them() -> None:
    entities = {"Alpha": ["`alphaId` (integer, id)"], "Beta": ["`betaId` (ulid, generated)"]}
    designed(entities, ("AP-001 | Alpha, Beta | - | Count | - | Yes (20) | Collection",), tenant="tenantId")


def test_count_of_several_entities_in_an_index() -> None:
    entities = {
        "Alpha": [*ALPHA, "`due` (date, optional, mutable)"],
        "Beta": [
            "`betaId` (string, generated)",
            "`alphaId` (string, immutable, → Alpha)",
            "`betaAt` (datetime, immutable)",
        ],
    }
    designed(
        entities,
        ("AP-001 | Alpha, Beta | alphaId, Alpha.alphaAt / Beta.betaAt >= | Count | - | Yes | Collection",),
        ("AP-020 | Alpha | alphaId, due | update Alpha (due) | -",),
    )


def test_read_that_no_key_serves_beside_others_in_its_partition() -> None:
    """It is refused with any keys, and not because of the items beside it."""
    entities = {
        "Alpha": ["`tenantId` (string, id)"],
        "Beta": ["`betaId` (integer, id)", "`state` (OPEN | DONE, mutable)", "`rank` (decimal, immutable)"],
    }
    reads = ("AP-001 | Beta | rank[], betaId, state = OPEN | Collection | - | Yes | No",)
    solution = solve(_read(entities, reads, tenant="tenantId"))
    assert solution.chosen.unserved == ("AP-001",)
    assert [o.problem for o in solution.design.operations] == [
        "a list of keys is one BatchGetItem, which tests nothing else"
    ]
