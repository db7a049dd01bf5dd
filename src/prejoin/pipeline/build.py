"""Everything made from a document, as `prejoin build` does it: checked, designed, proven, rendered, written."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from prejoin.cli.commands.check import contents
from prejoin.cli.outcome import CommandError, Outcome, Source
from prejoin.cli.output import show
from prejoin.cli.progress import Progress, Steps
from prejoin.cli.prompt.approval import ask
from prejoin.cli.status import Status
from prejoin.cli.text.build import outcome, page, result
from prejoin.cli.text.messages import counted
from prejoin.design.files import design_beside
from prejoin.design.model import Design
from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline import codes
from prejoin.pipeline.build_design import StoppedError, design_anew, read_again
from prejoin.pipeline.build_files import delete, write_all
from prejoin.pipeline.build_plan import Asked, Plan, Product, plan_of
from prejoin.pipeline.design_document import target
from prejoin.pipeline.document import Document, files_or_default, load
from prejoin.pipeline.document_file import check_writable
from prejoin.pipeline.generated_tests import run_tests
from prejoin.pipeline.record import Record, read_record, source_of, text_at
from prejoin.pipeline.settings import (
    FILE,
    Settings,
    check_roles,
    infrastructure_of,
    misnamed,
    read_settings,
    settings_text,
)
from prejoin.pipeline.workbench import model_of
from prejoin.render.documents.render_documents import DocumentOptions, render_documents
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.pictures.render_pictures import render_pictures
from prejoin.render.python.package import Options, package_name, render_python

_SERIOUS = frozenset({Severity.ERROR, Severity.WARNING})


def build_all(document: str | None, asked: Asked) -> Outcome:
    """Makes everything, and writes it where that is wanted."""
    file = files_or_default((document,) if document else ())[0]
    try:
        with Steps(asked.as_json) as steps:
            product = _product(file, asked, steps)
    except StoppedError as stop:
        return stop.outcome
    plan = plan_of(product)
    wanted = bool(plan.writable) or (asked.prune and bool(plan.deletable))
    write = asked.yes and not plan.stuck
    if asked.somebody and wanted and not plan.stuck:
        show(page(plan, asked, written=False), sys.stderr)
        write = ask("Write it?")
        plan = plan_of(product)  # as it is now: somebody may have edited a file meanwhile
        if not write:
            return Outcome(result=result(plan, asked, False), notes=("nothing was written",))
    if write:
        with Steps(asked.as_json) as steps:
            steps.begin("writing", "write")
            _write(plan, asked)
            steps.result(f"{counted(len(plan.writable), 'file')} in {product.folder}")
    # Who was asked has seen what becomes of each file.
    return outcome(plan, asked, write, shown=asked.somebody and wanted)


def _product(file: str, asked: Asked, steps: Progress) -> Product:
    steps.begin(file, "check")
    read = load(file)
    if has_errors(read.reading.diagnostics):
        note = "the document has errors; nothing was made"
        raise StoppedError(Outcome(Status.FAILED, sources=(read.source(_SERIOUS),), notes=(note,)))
    folder = Path(file).parent
    settings = asked.overrides.over(_settings(folder, read))
    package = package_name(read.workload, Options(settings.package))
    if wrong := misnamed(package):
        fix = f'say `--package NAME`, or `package = "name"` in {FILE}'
        raise CommandError(codes.SETTING, f"the package: {wrong}", fix, Status.FAILED, file)
    steps.result(contents(read.workload))
    text = text_at(Path(file)) or ""
    source = source_of(text, settings_text(folder), asked.overrides)
    place = design_beside(Path(file))
    check_writable(place)
    where = target(place)
    designed = None if asked.check else read_again(read, where, read_record(folder), steps)
    designed = designed or design_anew(read, where, folder, steps)
    own = PurePosixPath(where.path.name)
    python = render_python(read.workload, designed.design, Options(settings.package, settings.style))
    _compile(python)
    passed = _tested(python, package, read, steps) if settings.tests else None
    steps.begin("infrastructure, pages, pictures", "render")
    files = {**python, **dict(_rendered(read, designed.design, settings, folder, python, passed)), own: designed.text}
    _compile({path: text for path, text in files.items() if path not in python})
    steps.result(counted(len(files), "file"))
    return Product(read, folder, settings, designed, files, own, source)


def _compile(files: Mapping[PurePosixPath, str]) -> None:
    """Compiles the generated Python before anything is written. A file that does not compile is our mistake."""
    for path, text in files.items():
        if path.suffix == ".py":
            try:
                compile(text, str(path), "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as problem:
                message = f"the generated {path} is not Python ({problem}); nothing was written"
                fix = "report it together with the document"
                raise CommandError(codes.FAULT, message, fix, Status.FAULT, str(path)) from None


def _tested(
    python: Mapping[PurePosixPath, str], package: str, read: Document, steps: Progress
) -> frozenset[str] | None:
    """The generated tests that pass; None where they cannot be run here. Where one fails, nothing is written."""
    steps.begin("running the generated tests", "test")
    ran = run_tests(python, package)
    if ran.problem:
        steps.result(f"not run: {ran.problem}")
        return None
    if ran.failed:
        fix = "please report it, with the document; `--no-tests` writes the code without running them"
        said = tuple(codes.TEST_FAILED.at(None, f"{name} fails: {why}", fix) for name, why in ran.failed.items())
        note = "generated tests fail; nothing was written"
        raise StoppedError(Outcome(Status.FAILED, sources=(Source(read.file, read.text, said),), notes=(note,)))
    steps.result(f"{counted(len(ran.passed), 'test')} passed")
    return ran.passed


def _settings(folder: Path, read: Document) -> Settings:
    text = settings_text(folder)
    if text is None:
        return Settings()
    found = read_settings(text)
    said = (*found.diagnostics, *check_roles(found, read.workload))
    if said:
        source = Source(str(folder / FILE), text, said)
        raise StoppedError(Outcome(Status.FAILED, sources=(source,), notes=(f"{FILE} has errors; nothing was made",)))
    return found.settings


def _rendered(
    read: Document,
    design: Design,
    settings: Settings,
    folder: Path,
    python: Mapping[PurePosixPath, str],
    passed: frozenset[str] | None,
) -> Iterator[tuple[PurePosixPath, str]]:
    workload = read.workload
    yield from render_documents(workload, design, DocumentOptions(python, passed)).items()
    yield from render_pictures(workload, design).items()
    if settings.workbench:
        yield from model_of(workload, design, read.file).items()
    served = frozenset(operation.pattern for operation in design.operations if operation.served)
    try:
        options = infrastructure_of(settings, workload, served)
        for name in settings.infrastructure:
            yield from LANGUAGES[name](workload, design, options).items()
    except InfrastructureError as problem:
        message, _, fix = str(problem).rpartition(": ")
        there = (folder / FILE).exists()
        file = str(folder / FILE) if there else read.file
        fix = fix if message else f"change it in {FILE}, or in the Decisions"
        raise CommandError(codes.UNDEPLOYABLE, message or str(problem), fix, Status.FAILED, file) from None


def _write(plan: Plan, asked: Asked) -> None:
    product = plan.product
    gone = plan.deletable if asked.prune else ()
    left = {str(one.path): one.was for one in plan.left if one not in gone}
    designed = product.designed
    options = asked.overrides if asked.overrides.given else None
    record = Record(product.source, designed.source, designed.served, left=left, options=options)
    write_all(product.folder, list(plan.found), record)
    delete(product.folder, list(gone))
