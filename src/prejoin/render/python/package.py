"""A package of Python for a design: `render_python(workload, design)`, files by their paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from prejoin.design.cost.bill import bill
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.render.keeping import stamped
from prejoin.render.python.entities import Style, entities_module
from prejoin.render.python.keys import keys_module
from prejoin.render.python.layout import Imports, docstring
from prejoin.render.python.method import Method, Module, Param
from prejoin.render.python.names import identifier, names_of, short_title
from prejoin.render.python.repository import methods_of, repository_module, tenant_param
from prejoin.render.python.schema import schema_module
from prejoin.render.python.seed import seed_module
from prejoin.render.python.tests import tests_module
from prejoin.workload.model import Workload


@dataclass(frozen=True, slots=True)
class Options:
    """What is said about the code and not about the table."""

    package: str = ""
    """The name of the package; made from the title if not said."""
    style: Style = "dataclass"
    asynchronous: bool = True
    """Whether there is a repository to be awaited, too."""


def render_python(workload: Workload, design: Design, options: Options | None = None) -> Mapping[PurePosixPath, str]:
    """The package: entities, keys, schema, repositories and sample data; and tests that run every method."""
    options = options or Options()
    names = names_of(workload)
    package = PurePosixPath(package_name(workload, options))
    module = module_of(workload, design, options)
    methods = methods_of(module)
    files = {package / "repository.py": repository_module(module, methods)}
    if options.asynchronous:
        twin = replace(module, aio=True, imports=Imports())
        files[package / "async_repository.py"] = repository_module(twin, methods_of(twin))
    files[package / "__init__.py"] = docstring(f"{workload.title or 'The application'} on DynamoDB.")
    files[package / "entities.py"] = entities_module(workload, names, list(module.views.values()), options.style)
    files[package / "keys.py"] = keys_module(workload, design, names)
    files[package / "schema.py"] = schema_module(workload, design, names)
    files[package / "seed.py"] = seed_module(workload, design, names)
    files[PurePosixPath("tests/test_repository.py")] = tests_module(module, methods, package.name)
    return {path: stamped("\n".join(lines) + "\n") for path, lines in sorted(files.items())}


def module_of(workload: Workload, design: Design, options: Options) -> Module:
    """What methods are made from."""
    facets = planner_facets(design, workload)
    return Module(workload, design, names_of(workload), facets, bill(workload, design), options.style)


def package_name(workload: Workload, options: Options) -> str:
    return options.package or identifier(short_title(workload))


def repository_methods(workload: Workload, design: Design, options: Options | None = None) -> dict[str, Method]:
    """The methods of the repository as data, by the ids of their patterns."""
    return methods_of(module_of(workload, design, options or Options()))


def repository_tenant(workload: Workload, design: Design) -> Param | None:
    """What `of_tenant` of the repository takes; None where it has no such method."""
    return tenant_param(module_of(workload, design, Options()))
