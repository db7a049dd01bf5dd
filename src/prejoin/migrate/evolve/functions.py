"""Functions of the user that compute attributes or items of the next design: read, loaded and called.

    --function "Student=changes.py:split_name"          attributes of the same item
    --function "Customer to Address=changes.py:split"   items of another entity

A function gets a dict with the attributes of an object in OLD, by their names in the document, and returns a dict with
attributes of NEW; for another entity, one dict, a list of them, or None.
"""

from __future__ import annotations

import copy
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prejoin.migrate import codes
from prejoin.migrate.evolve.transition import Transition
from prejoin.pipeline import codes as pipeline_codes
from prejoin.pipeline.errors import InputError, InvalidArgumentError, Source
from prejoin.workload.lookup import suggest

_NAME = re.compile(r"\w+\Z")
_FORM = 'write `--function "Student=changes.py:split_name"`, or `"Customer to Address=changes.py:split"`'

Values = Mapping[str, Any]


class FunctionError(Exception):
    """A function failed for an object, or returned something that cannot be used."""


@dataclass(frozen=True)
class EntityFunction:
    """A function that computes attributes of an entity from an object of the same or of another entity."""

    source: str
    target: str
    name: str
    """The name of the function."""
    function: Callable[[dict[str, Any]], Any]

    @property
    def is_within(self) -> bool:
        """Whether it computes attributes of the same item."""
        return self.source == self.target

    @property
    def title(self) -> str:
        """How it is called in the state of the table, and in messages: `Student`, `Customer to Address`."""
        return self.source if self.is_within else f"{self.source} to {self.target}"

    def __call__(self, values: Values) -> list[dict[str, Any]]:
        """The results for an object. Raises a `FunctionError`."""
        first, second = self._call(values), self._call(values)
        if first != second:
            raise FunctionError(f"{self.name} returned two different results for the same object")
        return first

    def _call(self, values: Values) -> list[dict[str, Any]]:
        try:
            # The function may change what it gets.
            result = self.function(copy.deepcopy(dict(values)))
        except Exception as error:
            raise FunctionError(f"{self.name} raised {type(error).__name__}: {str(error)[:200]}") from error
        return self._objects(result)

    def _objects(self, result: Any) -> list[dict[str, Any]]:
        """What a function returned, as a list of objects."""
        if self.is_within:
            objects: list[Any] = [result]
        elif result is None:
            objects = []
        elif isinstance(result, list | tuple):
            objects = [*result]
        else:
            objects = [result]
        for object_ in objects:
            if not isinstance(object_, dict) or not all(isinstance(name, str) for name in object_):
                raise FunctionError(f"{self.name} returned {type(object_).__name__}, not a dict of attributes")
        return objects


def read_functions(texts: Iterable[str], transition: Transition) -> tuple[EntityFunction, ...]:
    """Loads the functions that are named. Raises an `InvalidArgumentError` or, if one cannot work, an `InputError`."""
    functions = tuple(_read_function(text, transition) for text in texts)
    titles = [function.title for function in functions]
    for title in titles:
        if titles.count(title) > 1:
            raise _invalid(f"there are two functions for {title}", "give one")
    return functions


def _read_function(text: str, transition: Transition) -> EntityFunction:
    # A file may have colons and equals signs in its name, entities and functions have none.
    entities, _, code = text.partition("=")
    file, _, function_name = code.rpartition(":")
    words = entities.split()
    is_pair = len(words) == 3 and words[1] == "to"
    names = [*words[::2], function_name.strip()]
    if not (is_pair or len(words) == 1) or not file.strip() or not all(map(_NAME.match, names)):
        raise _invalid(f"`{text}` does not name an entity and a function", _FORM)
    source, target = words[0], words[-1]
    for entity, version in ((source, transition.old), (target, transition.new)):
        if version.workload.entity(entity) is None or version.design.item(entity) is None:
            suggestion = suggest(entity, [entity.name for entity in version.workload.entities])
            fix = f"did you mean `{suggestion}`?" if suggestion else _FORM
            raise _invalid(f"there is no entity `{entity}` in `{version.name}`", fix)
    _require_possible(source, target, transition)
    name = function_name.strip()
    return EntityFunction(source, target, name, _load(Path(file.strip()), name))


def _require_possible(source: str, target: str, transition: Transition) -> None:
    """Raises an `InputError` for a change that a function cannot be part of."""
    old, new = transition.old.name, transition.new.name
    dropped_names = [name for entity, name in transition.dropped if entity == source]
    if dropped_names:
        message = f"`{new}` drops {source}.{dropped_names[0]}, which a function may need until `clean`"
        raise _impossible(message, "keep it in this change, and drop it in the next one")
    if transition.new.workload.entity(source) is None:
        message = f"`{new}` has no {source}, whose items the function needs until `clean`"
        raise _impossible(message, f"keep {source} in this change, and leave it out in the next one")
    for name in dict.fromkeys((source, target)):
        if name in transition.moved:
            message = f"{name} gets another key in this change, and a function computes its attributes"
            raise _impossible(message, "make one of them in a change before this one")
    if transition.old.workload.entity(target) is not None and not computed_attributes(target, transition):
        message = f"{target} has the same attributes in `{old}` and `{new}`, so there is nothing to compute"
        raise _impossible(message, f"add the attributes to {target} in `{new}`, as optional ones")


def computed_attributes(entity: str, transition: Transition) -> tuple[str, ...]:
    """The attributes that a function may compute: those that only NEW has."""
    was, now = transition.old.workload.entity(entity), transition.new.workload.entity(entity)
    if now is None:
        return ()
    new_names = {new for name, _, new in transition.renamed if name == entity}
    names = [attribute.name for attribute in now.attributes if was is None or was.attribute(attribute.name) is None]
    return tuple(name for name in names if name not in new_names)


def _load(file: Path, name: str) -> Callable[[dict[str, Any]], Any]:
    """The function of a file. The file is run: it is code of the user, who names it."""
    if file.suffix != ".py" or not file.is_file():
        raise _invalid(f"there is no file {file}", "name a Python file: `changes.py:split_name`")
    module_name = f"prejoin_functions_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # classes in it may look for their module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _invalid(f"{file} raised {type(error).__name__}: {str(error)[:200]}", "correct the file") from error
    function = getattr(module, name, None)
    if not callable(function):
        suggestion = suggest(name, [member_name for member_name, value in vars(module).items() if callable(value)])
        raise _invalid(
            f"{file} has no function `{name}`", f"did you mean `{suggestion}`?" if suggestion else "name one of it"
        )
    checked_function: Callable[[dict[str, Any]], Any] = function
    return checked_function


def _invalid(message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(pipeline_codes.FLAG, message, fix)


def _impossible(message: str, fix: str) -> InputError:
    return InputError(Source("", "", (codes.CHANGED_ATTRIBUTE.at(None, message, fix),)), note="nothing was done")
