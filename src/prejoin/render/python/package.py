"""The Python package of a design: `render_python` gives its files, `render_package` the modules that run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from prejoin.design.cost.bill import bill
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.render.python.context import RenderContext
from prejoin.render.python.entities import Style, View, entities_module
from prejoin.render.python.keys import keys_module
from prejoin.render.python.layout import Imports, docstring
from prejoin.render.python.method import Method, Param
from prejoin.render.python.names import Names, names_of, short_title
from prejoin.render.python.repository import methods_of, repository_module, tenant_param
from prejoin.render.python.schema import schema_module
from prejoin.render.python.seed import seed_module
from prejoin.render.python.tests import TESTS
from prejoin.render.python.tests.tests_module import MethodTests, tests_module, tests_of
from prejoin.render.stamp import add_stamp
from prejoin.workload.field_names import identifier
from prejoin.workload.model import Workload


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of the generated code. They do not change the table."""

    package: str = ""
    """The name of the package; by default made from the title of the document."""
    style: Style = "dataclass"
    asynchronous: bool = True
    """Whether to write an async repository as well."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """The patterns that the proof could not run, with the reasons. Their methods say so."""
    untested: frozenset[str] = frozenset()
    """The patterns that get no test."""


@dataclass(frozen=True, slots=True)
class RenderedPackage:
    """The modules of a package that run in production, and what is in them as data."""

    name: str
    modules: Mapping[str, str]
    """The source of `entities`, `schema`, `repository` and `async_repository`, each after those that it imports."""
    names: Names
    methods: Mapping[str, Method]
    """The methods of the repositories, by the ids of their patterns."""
    views: tuple[View, ...]
    """The classes with some of an entity's attributes."""
    tenant: Param | None
    """The parameter of `of_tenant`; None if the table has no tenants."""
    stores: bool = False
    """Whether contents are in an object store, with which `schema(store)` makes the schema."""


def render_package(workload: Workload, design: Design, options: Options | None = None) -> RenderedPackage:
    """Renders the entities, the schema and the repositories."""
    options = options or Options()
    module = module_of(workload, design, options)
    return _render_modules(module, methods_of(module), options)


def _render_modules(module: RenderContext, methods: dict[str, Method], options: Options) -> RenderedPackage:
    workload, names = module.workload, module.names
    repositories = {"repository": repository_module(module, methods)}
    if options.asynchronous:
        # Both repositories share the names and views, and have imports of their own.
        twin = replace(module, aio=True, imports=Imports())
        repositories["async_repository"] = repository_module(twin, methods_of(twin))
    # The classes of views are collected while the methods are rendered, so entities come after them.
    views = tuple(module.views.values())
    modules = {
        "entities": entities_module(workload, names, views, options.style),
        "schema": schema_module(workload, module.design, names),
        **repositories,
    }
    sources = {name: _source(lines) for name, lines in modules.items()}
    name, stores = package_name(workload, options), bool(module.design.stores)
    return RenderedPackage(name, sources, names, methods, views, tenant_param(module), stores)


def render_python(workload: Workload, design: Design, options: Options | None = None) -> Mapping[PurePosixPath, str]:
    """Renders all files of the package: its modules, keys and sample data, and tests that run every method."""
    options = options or Options()
    module = module_of(workload, design, options)
    methods = methods_of(module)
    package_code = _render_modules(module, methods, options)
    package = PurePosixPath(package_code.name)
    other_files = {
        package / "__init__.py": docstring(f"{workload.title or 'The application'} on DynamoDB."),
        package / "keys.py": keys_module(module),
        package / "seed.py": seed_module(workload, design, module.names),
        PurePosixPath(TESTS): tests_module(module, tests_of(module, methods, options.untested), package.name),
    }
    files = {path: _source(lines) for path, lines in other_files.items()}
    for name, source in package_code.modules.items():
        files[package / f"{name}.py"] = source
    return dict(sorted(files.items()))


def _source(lines: list[str]) -> str:
    return add_stamp("\n".join(lines) + "\n")


def module_of(workload: Workload, design: Design, options: Options) -> RenderContext:
    """The input for rendering methods."""
    facets = planner_facets(design, workload)
    cost = bill(workload, design)
    return RenderContext(workload, design, names_of(workload), facets, cost, options.style, unproven=options.unproven)


def package_name(workload: Workload, options: Options) -> str:
    return options.package or identifier(short_title(workload))


def repository_methods(workload: Workload, design: Design, options: Options | None = None) -> dict[str, Method]:
    """The methods of the repository as data, by the ids of their patterns."""
    return methods_of(module_of(workload, design, options or Options()))


def repository_tests(workload: Workload, design: Design, options: Options) -> dict[str, MethodTests]:
    """The generated tests of each method, by the ids of their patterns."""
    module = module_of(workload, design, options)
    return tests_of(module, methods_of(module), options.untested)


def repository_tenant(workload: Workload, design: Design) -> Param | None:
    """The parameter of `of_tenant`; None if the table has no tenants."""
    return tenant_param(module_of(workload, design, Options()))
