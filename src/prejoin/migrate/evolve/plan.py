"""`plan_evolution`: the steps from one design to the next, what they cost, and the files of each deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_version
from decimal import Decimal
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec.structs import replace

from prejoin.design.files import design_beside
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Item, Operation, design_with_names
from prejoin.design.phrases import listed
from prejoin.engine import Embedded
from prejoin.migrate.evolve.functions import EntityFunction
from prejoin.migrate.evolve.items import FOLDER, evolution_of
from prejoin.migrate.evolve.record import TableRecord, record_place
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id, plan_transition, renamed_entities
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.design.design_file import read_design
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import InputError
from prejoin.pipeline.output_files import make_folder, write_file
from prejoin.protocol.prices import READ_UNIT_SIZE, dollars
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.infrastructure.options import Infrastructure
from prejoin.render.python.package import Options, package_name, render_package
from prejoin.table.client.client import Client
from prejoin.table.schema.pattern import STATE_TAG
from prejoin.workload.entity_names import pattern_with_names, with_entity_names
from prejoin.workload.model import Workload

SAMPLE = 500
"""Items on which a backfill is tried to estimate its cost."""
RATE = 1000.0
"""Write units a second that the duration is for, unless another rate is given."""


StepKind = Literal["index", "deploy", "backfill", "remove", "clean"]
COMMANDS: Mapping[StepKind, str] = {"index": "indexes", "backfill": "backfill", "remove": "clean", "clean": "clean"}
"""The commands of `prejoin evolve` that do the steps; a person does the others."""


@dataclass(frozen=True)
class EvolutionStep:
    """One step. A person deploys code and infrastructure; a command does the others."""

    kind: StepKind
    what: str
    """The index, or the version of the code."""
    text: str
    running: str
    """The versions of the code that may run during the step."""


@dataclass(frozen=True)
class BackfillEstimate:
    """The cost of the backfill of one table, and of `clean`, from a sample of its items."""

    items: int
    """Items of the table, as DynamoDB counts them every six hours."""
    sampled: int
    writes: float
    """Write units of the backfill, at most."""
    clean_writes: float
    """Write units of `clean`, at most."""
    reads: float
    """Read units of both."""
    seconds: float
    """The duration of the writes of both."""
    undecided: int = 0
    """Items of the sample that the backfill would report."""
    example: str = ""
    """One of them."""

    @property
    def dollars(self) -> Decimal:
        """The price of both on demand, in us-east-1."""
        return dollars(reads=self.reads, writes=self.writes + self.clean_writes).quantize(Decimal("0.01"))


def open_version(name: str, path: str | Path) -> CodeVersion:
    """The design in a file, or in a folder with its document. Raises an `InputError` if it has errors."""
    place = Path(path)
    read_result = read_design(design_beside(place / DOCUMENT) if place.is_dir() else place)
    if read_result.unusable or read_result.fails:
        note = f"{name} has errors; nothing was planned"
        raise InputError(read_result.source(), read_result.document.source(), note=note)
    workload = read_result.document.workload
    return CodeVersion(name, workload, map_patterns(read_result.design, workload))


def steps_of(transition: Transition, functions: Sequence[EntityFunction] = ()) -> tuple[EvolutionStep, ...]:
    """The steps in their order. Each keeps all running versions of the code right.

    `functions` compute values during the backfill, also of a change that needs none otherwise.
    """
    return tuple(_steps(transition, functions))


def _steps(transition: Transition, functions: Sequence[EntityFunction]) -> Iterator[EvolutionStep]:
    old, new = transition.old.name, transition.new.name
    running = f"`{old}`"
    for slot in transition.added:
        yield EvolutionStep("index", slot.name, f"add the index {slot.name}", running)
    if (transition.needs_backfill or functions) and not transition.needs_prepare:
        yield EvolutionStep("backfill", "", _backfill_text(transition, functions), running)
    for version in transition.versions:
        does = {
            transition.prepare.name: f"it writes what `{old}` and `{new}` write, and reads as `{old}`",
            transition.switch.name: f"it writes what `{old}` and `{new}` write, and reads as `{new}`",
        }
        if transition.renamed_members:
            does = {
                transition.prepare.name: f"it reads what `{old}` and `{new}` write, and writes as `{old}`",
                transition.switch.name: f"it reads what `{old}` and `{new}` write, and writes as `{new}`",
            }
        text = does.get(version.name, f"it reads and writes as `{new}`")
        label = f"`{version.name}`"
        yield EvolutionStep("deploy", version.name, f"deploy {label} everywhere: {text}", f"{running} and {label}")
        running = label
        if version is transition.before_backfill:
            yield EvolutionStep("backfill", "", _backfill_text(transition, functions), running)
    for slot in transition.removed:
        yield EvolutionStep("remove", slot.name, f"remove the index {slot.name}", running)
    deletions = deletions_of(transition)
    if deletions:
        text = f"delete {listed(deletions)}; verify the rest"
    elif transition.renamed_members:
        names = " and ".join(map(str, transition.renamed_members))
        text = f"verify that no item has {names} any more, and that all are as `{new}` needs them"
    else:
        text = f"verify that all items are as `{new}` needs them"
    yield EvolutionStep("clean", "", f"{text}, and record `{new}` as the design of the table", running)


def next_text(transition: Transition, kind: StepKind | None, functions: Sequence[EntityFunction] = ()) -> str:
    """What has to be done after a step: the deployments before the next command, and that command.

    Without a kind, what has to be done first.
    """
    steps = steps_of(transition, functions)
    numbers = [number for number, step in enumerate(steps) if step.kind == kind]
    following = steps[numbers[-1] + 1 :] if numbers else steps
    deployments: list[str] = []
    for step in following:
        if step.kind == "deploy":
            deployments.append(f"deploy `{step.what}` everywhere")
            continue
        command = f"`prejoin evolve {COMMANDS[step.kind]} {transition.old.name} {transition.new.name}`"
        return ", then ".join([*deployments, command])
    return f"`{transition.new.name}` is the design of the table now"


def obstacle_to_way_back(transition: Transition) -> str:
    """Why a change cannot be turned round while it is under way; empty if it can."""
    try:
        plan_transition(transition.new, transition.old, transition.change)
    except InputError as refusal:
        return refusal.diagnostics[0].message
    return ""


def way_back_text(way_back: Transition) -> str:
    """Which deployments of the way back are left out; empty if it has no code of both designs.

    The code that runs when a change is turned round may be any of its versions. `prepare` of the way back is `switch`
    of the way there, and it must not be deployed before a backfill has written what it reads.
    """
    if not (way_back.needs_prepare or way_back.needs_switch):
        return ""
    target = way_back.new.name
    return (
        f"deploy only what follows the code that runs now: if that is `{target}` or the former `prepare`, leave out "
        "`prepare` and `switch`; if it is the former `switch`, leave out `prepare`"
    )


def clean_text(transition: Transition) -> str:
    """What `clean` will do: remove indexes, delete the rest of OLD, verify."""
    return ", then ".join(step.text for step in steps_of(transition) if COMMANDS.get(step.kind) == "clean")


def _backfill_text(transition: Transition, functions: Sequence[EntityFunction]) -> str:
    parts = [f"write what `{transition.new.name}` reads into all items"]
    for function in functions:
        values = f"{function.target} from {function.source}"
        if function.is_within:
            values = f"attributes of {function.target}"
        parts.append(f"compute {values} with {function.name}")
    if transition.fills:
        names = dict.fromkeys(f"{fill.entity}.{fill.attribute}" for fill in transition.fills)
        parts.append(f"write the default of {' and '.join(names)} into items that lack it")
    parts += [f"copy {entity}.{before} to {after}" for entity, before, after in transition.renamed]
    parts += [f"write {member.new} instead of {member}" for member in transition.renamed_members]
    if transition.verified:
        names = dict.fromkeys(f"{entity}.{attribute}" for entity, attribute in transition.verified)
        parts.append(f"look at {' and '.join(names)} of every item")
    return ", ".join(parts) + ", and verify it"


def deletions_of(transition: Transition) -> tuple[str, ...]:
    """What `clean` deletes, beside indexes: items under old keys, attributes, index keys, copies and guards."""
    return tuple(_deletions(transition))


def _deletions(transition: Transition) -> Iterator[str]:
    before = transition.old.name
    if transition.moved:
        yield f"the items of {listed(transition.moved)} under their key in `{before}`, with all that belongs to them"
    names = [*transition.dropped, *((entity, old_name) for entity, old_name, _ in transition.renamed)]
    for entity, attribute in names:
        yield f"the attribute {attribute} of {entity}"
    transition = transition.for_items
    for item in transition.switch.design.items:
        if item.change:
            continue  # the items under the old key
        if item.whole:
            yield f"the copy {item.name}"
            continue
        for facet in item.facets:
            if facet.write_only:
                yield f"the keys of {item.name} in {facet.slot}"
    for guard in transition.old.design.guards:
        if guard not in transition.new.design.guards:
            yield f"the guards of {guard.entity}'s {listed(guard.attributes)}"


def estimate_backfill(
    transition: Transition,
    place: TablePlace,
    table: str | None,
    rate: float | None = None,
    *,
    has_functions: bool = False,
) -> BackfillEstimate:
    """Tries backfill and `clean` on the first items of a table, in memory. Nothing is written to the table.

    Copies and guards of the sampled items that are not in the sample count as missing: the estimate is an upper bound.
    """
    name = table or transition.old.design.table
    with connect(transition.old.package.schema, name, place) as client:
        table_description = client.call("DescribeTable")["Table"]
        sample = client.call("Scan", {"Limit": SAMPLE})["Items"]
        record = record_place(client, FOLDER).read()
    count, size = table_description["ItemCount"], table_description["TableSizeBytes"]
    with Embedded() as engine, TemporaryDirectory() as folder:
        local = Client(transition.old.package.schema, name, engine)
        local.create_table()
        for item in sample:
            # The estimate is for the whole change, however far the table is.
            if item.get(transition.old.design.type_attribute) != {"S": STATE_TAG}:
                local.call("PutItem", {"Item": item})
        if record.design or record.change:
            # The table is where the change begins, or on its way: its items may be those of either design.
            record_place(local, folder).write(TableRecord(design_id(transition.old), transition.old.name))
        with evolution_of(transition, local, state=folder) as evolution:
            evolution.add_indexes()
            evolution.backfill()
            backfill_units = evolution.throttle.units
            findings = evolution.result.undecided
            if not findings:
                evolution.clean()
            clean_units = evolution.throttle.units - backfill_units
    factor = max(count, len(sample)) / max(len(sample), 1)
    # Even if the plan has no backfill, one is tried: it writes what only the sample lacks, and clean does not.
    writes = backfill_units * factor if transition.needs_backfill or has_functions else 0.0
    clean_writes = clean_units * factor
    # Each of them reads the table twice, the second time to verify.
    reads = 4 * 0.5 * size / READ_UNIT_SIZE
    seconds = (writes + clean_writes) / (rate or RATE)
    # Items with the same unique value are listed by `find_duplicates`, which reads all of them.
    unfit = [finding for finding in findings if finding.kind != "taken"]
    example = str(unfit[0]) if unfit else ""
    return BackfillEstimate(
        items=count,
        sampled=len(sample),
        writes=writes,
        clean_writes=clean_writes,
        reads=reads,
        seconds=seconds,
        undecided=len(unfit),
        example=example,
    )


# --- Files ----------------------------------------------------------------------------------------------------------


def step_folder(transition: Transition, number: int, step: EvolutionStep) -> str:
    """The folder of the files of a step, `2-prepare`; empty if it has none. Steps are counted from 1."""
    if step.kind == "deploy":
        return f"{number}-{'NEW' if step.what == transition.new.name else step.what}"
    prefixes: Mapping[StepKind, str] = {"index": "add", "remove": "remove"}
    return f"{number}-{prefixes[step.kind]}-{step.what}" if step.kind in prefixes else ""


def write_steps(
    transition: Transition,
    folder: str | Path,
    language: str = "cloudformation",
    functions: Sequence[EntityFunction] = (),
) -> tuple[str, ...]:
    """Writes the files of each deployment: the infrastructure of each wave, and the package of each version."""
    target = Path(folder)
    make_folder(target)
    files = []
    for place, text in _files(transition, language, functions):
        write_file(target, place, text)
        files.append(str(target / place))
    return tuple(files)


def _files(plan: Transition, language: str, functions: Sequence[EntityFunction]) -> Iterator[tuple[PurePosixPath, str]]:
    index_names = [slot.name for slot in plan.old.design.indexes]
    for number, step in enumerate(steps_of(plan, functions), 1):
        folder = PurePosixPath(step_folder(plan, number, step))
        if step.kind == "index":
            index_names.append(step.what)
        elif step.kind == "remove":
            index_names.remove(step.what)
        if step.kind in ("index", "remove"):
            yield from ((folder / path, text) for path, text in _wave(plan, index_names, language).items())
        elif step.kind == "deploy":
            version = next(version for version in plan.versions if version.name == step.what)
            options = Options(package_name(version.workload, Options()))
            package = render_package(version.workload, version.design, options)
            yield folder / package.name / "__init__.py", f'"""The version {version.name} of the code."""\n'
            for module, source in package.modules.items():
                yield folder / package.name / f"{module}.py", source


def _wave(transition: Transition, index_names: list[str], language: str) -> Mapping[PurePosixPath, str]:
    """The infrastructure with these indexes. Its policies allow what the code of all versions does."""
    transition = _in_new_names(transition)
    slots = {slot.name: slot for slot in (*transition.old.design.slots, *transition.new.design.slots)}
    workload = _with_all_of(transition.switch.workload, transition.old.workload)
    slots_of_wave = [transition.old.design.slots[0], *(slots[name] for name in index_names)]
    names = {slot.name for slot in slots_of_wave}
    items = [_within(item, names) for item in _items(transition)]
    design = replace(transition.new.design, slots=tuple(slots_of_wave), items=tuple(items), operations=())
    design = replace(design, operations=_operations(transition, workload, names))
    return LANGUAGES[language](workload, design, Infrastructure())


def _with_all_of(workload: Workload, old: Workload) -> Workload:
    """A workload with the entities and patterns that only the other one has: the roles of its code need them."""
    return replace(
        workload,
        entities=(*workload.entities, *(entity for entity in old.entities if workload.entity(entity.name) is None)),
        reads=(*workload.reads, *(read for read in old.reads if workload.pattern(read.id) is None)),
        writes=(*workload.writes, *(write for write in old.writes if workload.pattern(write.id) is None)),
        deletes=(*workload.deletes, *(delete for delete in old.deletes if workload.pattern(delete.id) is None)),
    )


def _in_new_names(transition: Transition) -> Transition:
    """The transition with the designs and patterns of all versions in the names of NEW."""
    names = renamed_entities(transition.old, transition.new)
    if not names:
        return transition
    old, prepare = (_with_patterns(version, names) for version in (transition.old, transition.prepare))
    return replace_version(transition, old=old, prepare=prepare)


def _with_patterns(version: CodeVersion, names: Mapping[str, str]) -> CodeVersion:
    workload = replace(
        with_entity_names(version.workload, names),
        reads=tuple(pattern_with_names(pattern, names) for pattern in version.workload.reads),
        writes=tuple(pattern_with_names(pattern, names) for pattern in version.workload.writes),
        deletes=tuple(pattern_with_names(pattern, names) for pattern in version.workload.deletes),
    )
    return CodeVersion(version.name, workload, design_with_names(version.design, names))


def _items(transition: Transition) -> tuple[Item, ...]:
    """All items of both designs, with all of their keys."""
    merged_items: dict[tuple[str, str], Item] = {
        (item.entity, item.copy): item for item in transition.switch.design.items
    }
    for design in (transition.old.design, transition.new.design):
        for item in design.items:
            merged_item = merged_items.setdefault((item.entity, item.copy), item)
            new_facets = tuple(facet for facet in item.facets if merged_item.facet(facet.slot) is None)
            merged_items[item.entity, item.copy] = replace(merged_item, facets=merged_item.facets + new_facets)
    return tuple(merged_items.values())


def _within(item: Item, slots: set[str]) -> Item:
    return replace(item, facets=tuple(facet for facet in item.facets if facet.slot in slots))


def _operations(transition: Transition, workload: Workload, slots: set[str]) -> tuple[Operation, ...]:
    """For each pattern, the requests of all versions, as far as their indexes exist."""
    versions = (transition.old, transition.prepare, transition.switch, transition.new)
    merged_operations: dict[str, Operation] = {}
    for version in versions:
        for operation in version.design.operations:
            previous = merged_operations.get(operation.pattern)
            requests = [request for request in operation.requests if request.slot in slots]
            if previous:
                requests = [*previous.requests, *requests]
            if requests:
                merged_operations[operation.pattern] = replace(
                    operation, requests=tuple(dict.fromkeys(requests)), problem="", remedy=""
                )
    return tuple(merged_operations[pattern.id] for pattern in workload.patterns if pattern.id in merged_operations)
