"""Build everything from a document: the design, typed Python with tests, infrastructure, documents and pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from prejoin.design.files import design_beside
from prejoin.design.model import Design
from prejoin.pipeline import codes
from prejoin.pipeline.build.build_design import design_again, new_design
from prejoin.pipeline.build.build_plan import BuildPlan, Product, plan_of
from prejoin.pipeline.build.generated_tests import TestRun, run_tests
from prejoin.pipeline.build.record import read_record, source_of, text_at
from prejoin.pipeline.build.settings import (
    FILE,
    Overrides,
    Settings,
    check_roles,
    infrastructure_of,
    misnamed,
    read_settings,
    settings_text,
)
from prejoin.pipeline.design.design_document import design_target
from prejoin.pipeline.document import Document, check_writable, read_document
from prejoin.pipeline.errors import GeneratedCodeError, InputError, PipelineError, Source
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.summary import contents, quantity
from prejoin.pipeline.workbench import workbench_model
from prejoin.render.documents.render_documents import DocumentOptions, render_documents
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.pictures.render_pictures import render_pictures
from prejoin.render.python.package import (
    Options,
    package_name,
    render_python,
    repository_methods,
    repository_tests,
)
from prejoin.render.python.tests import TESTS
from prejoin.workload.model import Workload


def build_project(
    path: str | os.PathLike[str],
    *,
    overrides: Overrides | None = None,
    redesign: bool = False,
    replace_design: bool = False,
    progress: Progress = SILENT,
) -> BuildPlan:
    """Generates everything from a document: checked, designed, proven, rendered and tested. Nothing is written yet.

    The plan says what happens to each file; its `write()` writes them. `overrides` come before the settings of
    prejoin.toml beside the document. A design that was proven when it was written, for the same document, is neither
    solved nor proven again, unless `redesign` is True. A design that is approved, or was made to keep another,
    is kept, and new parts are added to it. What somebody changed in its document by hand, and a new one would not have,
    is a conflict, unless `replace_design` is True.

    Raises an `InputError` if the document, its design or prejoin.toml has errors or a generated test fails, and another
    `PipelineError` if the files could not be written or deployed.
    """
    file, overrides = os.fspath(path), overrides or Overrides()
    progress.begin(file, "check")
    read = read_document(file)
    read.require_no_errors("the document has errors; nothing was built")
    folder = Path(file).parent
    settings = overrides.over(_settings(folder, read))
    package = package_name(read.workload, Options(settings.package))
    if wrong := misnamed(package):
        fix = f'pass `--package NAME`, or write `package = "name"` in {FILE}'
        raise PipelineError(codes.SETTING, f"the package: {wrong}", fix, file)
    progress.result(contents(read.workload))
    source = source_of(text_at(Path(file)) or "", settings_text(folder), overrides)
    place = design_beside(Path(file))
    check_writable(place)
    target = design_target(place)
    allow = settings.allow_unproven
    build_design = None if redesign else design_again(read, target, read_record(folder), progress, allow)
    build_design = build_design or new_design(read, target, folder, progress, allow)
    own = PurePosixPath(place.name)
    options = Options(settings.package, settings.style, unproven=build_design.unproven)
    python = render_python(read.workload, build_design.design, options)
    _compile(python)
    passed_tests = None
    if settings.tests:
        test_run = _run_tests(python, package, progress)
        failing = _failing_unproven(read.workload, build_design.design, options, test_run)
        if failing:  # the proof could not run them either
            options = replace(options, untested=failing)
            python = render_python(read.workload, build_design.design, options)
            test_run = _run_tests(python, package, progress)
        passed_tests = _passed_tests(test_run, read, progress)
    progress.begin("infrastructure, documents, pictures", "render")
    files = {
        **python,
        **dict(_render_files(read, build_design.design, settings, folder, options, passed_tests)),
        own: build_design.text,
    }
    _compile({path: text for path, text in files.items() if path not in python})
    progress.result(quantity(len(files), "file"))
    return plan_of(Product(read, folder, settings, overrides, build_design, files, own, source, replace_design))


def _settings(folder: Path, read: Document) -> Settings:
    text = settings_text(folder)
    if text is None:
        return Settings()
    reading = read_settings(text)
    diagnostics = (*reading.diagnostics, *check_roles(reading, read.workload))
    if diagnostics:
        raise InputError(Source(str(folder / FILE), text, diagnostics), note=f"{FILE} has errors; nothing was built")
    return reading.settings


def _compile(files: Mapping[PurePosixPath, str]) -> None:
    """Compiles generated Python before anything is written. A file that does not compile is a bug in prejoin."""
    for path, text in files.items():
        if path.suffix == ".py":
            try:
                compile(text, str(path), "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as problem:
                message = f"the generated {path} is not Python ({problem}); nothing was written"
                raise GeneratedCodeError(codes.FAULT, message, "report it, with the document", str(path)) from None


def _run_tests(python: Mapping[PurePosixPath, str], package: str, progress: Progress) -> TestRun:
    progress.begin("running the generated tests", "test")
    return run_tests(python, package)


def _failing_unproven(workload: Workload, design: Design, options: Options, test_run: TestRun) -> frozenset[str]:
    """The patterns that are not proven and whose generated tests fail."""
    tests = repository_tests(workload, design, options)
    failed_tests = set(test_run.failed or ())
    return frozenset(
        pattern
        for pattern in options.unproven
        if pattern in tests and failed_tests.intersection(f"{TESTS}::{name}" for name in tests[pattern].names)
    )


def _passed_tests(test_run: TestRun, read: Document, progress: Progress) -> frozenset[str] | None:
    """The generated tests that pass; None if they cannot be run here. Raises an `InputError` if one fails."""
    if test_run.problem:
        progress.result(f"not run: {test_run.problem}")
        return None
    if test_run.failed:
        fix = "please report it, with the document; `--no-tests` writes the code without running them"
        failures = tuple(
            codes.TEST_FAILED.at(None, f"{name} fails: {why}", fix) for name, why in test_run.failed.items()
        )
        raise InputError(Source(read.file, read.text, failures), note="generated tests fail; nothing was written")
    progress.result(f"{quantity(len(test_run.passed), 'test')} passed")
    return test_run.passed


def _render_files(
    read: Document,
    design: Design,
    settings: Settings,
    folder: Path,
    python: Options,
    passed_tests: frozenset[str] | None,
) -> Iterator[tuple[PurePosixPath, str]]:
    workload = read.workload
    methods = repository_methods(workload, design, python)
    tests = {
        pattern: method_tests.names for pattern, method_tests in repository_tests(workload, design, python).items()
    }
    documents = DocumentOptions(methods, passed_tests, python.unproven, tests)
    yield from render_documents(workload, design, documents).items()
    yield from render_pictures(workload, design).items()
    if settings.workbench:
        yield from workbench_model(workload, design, read.file).items()
    served_ids = frozenset(operation.pattern for operation in design.operations if operation.served)
    try:
        options = infrastructure_of(settings, workload, served_ids)
        for name in settings.infrastructure:
            yield from LANGUAGES[name](workload, design, options).items()
    except InfrastructureError as problem:
        file = str(folder / FILE) if (folder / FILE).exists() else read.file
        fix = problem.fix or f"change it in {FILE}, or in the Decisions"
        raise PipelineError(codes.UNDEPLOYABLE, problem.message, fix, file) from None
