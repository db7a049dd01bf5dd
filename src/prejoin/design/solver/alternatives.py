"""Other keys in place of selected ones: `Alternatives(options)`, for the steps of the local search and for repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from prejoin.design.solver.placement import BASE, OWN, CollectionPlace, Placement, Selection
from prejoin.design.solver.program.options import ComponentOptions, Option, moved


class Alternatives:
    """The alternatives to selected keys among the options of a component."""

    def __init__(self, options: ComponentOptions) -> None:
        self._options = options

    def narrowing(self, chosen: Selection) -> Iterator[tuple[Placement, Placement]]:
        """Each selected key of an entity with reads that name the attributes they want, and its alternatives.

        An index that holds only these attributes may cost less than the program knows. The keys of other entities come
        last: they may have been chosen for reads that are served elsewhere by now.
        """
        own = [place for place in chosen.placed if place.entity in self._options.prices]
        narrow = {place.entity for place in own if self._options.named(place.entity) is not None}
        for place in sorted(own if narrow else (), key=lambda one: one.entity not in narrow):
            for option in self._alternatives(place, chosen):
                yield place, replace(place, candidate=option.place.candidate)

    def sparing(self, chosen: Selection) -> Iterator[tuple[Placement, Placement]]:
        """Each selected key, and its cheaper alternatives that the program avoids, because a write has to read first.

        With natural keys the write may not have to.
        """
        for place in chosen.placed:
            for option in self._alternatives(place, chosen):
                mine, theirs = self._option_of(place).price, option.price
                saved = mine.dollars - theirs.dollars
                saved += sum(
                    mine.answers[read].dollars - a.dollars for read, a in theirs.answers.items() if read in mine.answers
                )
                if saved > 0 and theirs.read_first - mine.read_first:
                    yield place, replace(place, candidate=option.place.candidate)

    def turning(self, placed: Iterable[Placement]) -> Iterator[tuple[set[Placement], set[Placement]]]:
        """The key in the table and a key in a new index of an entity as in `narrowing`, and two keys in place of both.

        The new key in the table serves something that only the index served.
        """
        there = list(placed)
        for base in there:
            own_key = (base.item, base.slot) == (OWN, BASE) and not base.candidate.fixed
            if not own_key or self._options.named(base.entity) is None:
                continue
            own = [p for p in there if p.entity == base.entity]
            for index in (p for p in own if p.slot >= self._options.new):
                rest = [_anywhere(self._serving(p)) for p in own if p not in (base, index)]
                for new_base, new_index in self._turned(self._option_of(base), self._option_of(index), rest):
                    yield {base, index}, {new_base.place, replace(index, candidate=new_index.place.candidate)}

    def _turned(self, base: Option, index: Option, rest: list[frozenset[object]]) -> Iterator[tuple[Option, Option]]:
        """Two other options that serve whatever the rest of the keys does not. No write knows less of the new key."""
        before, wanted = _anywhere(_served(base)), _anywhere(_served(index)) - _anywhere(_served(base))
        alone = (before | wanted).difference(*rest)
        for option in self._options.bases[base.place.entity]:
            served = _anywhere(_served(option))
            if served & wanted and option.knows >= base.knows:
                others = self._options.others[base.place.entity]
                yield from ((option, other) for other in others if alone <= served | _anywhere(_served(other)))

    def own_index(self, read: str) -> tuple[CollectionPlace, list[Placement]] | None:
        """The keys of a read of several entities in a new index that it shares with none of their other keys."""
        best: tuple[float, CollectionPlace, list[Placement]] | None = None
        for way in (replace(way, slot=self._options.new) for way in self._options.ways[read]):
            found: list[Option] = []
            for name in dict.fromkeys(need.entity for need in self._options.needs_of(way)):
                options = [option for option in self._options.others[name] if way in option.ways]
                if options:
                    found.append(
                        min(options, key=lambda one: (one.price.hot, one.price.dollars, self._options.taste(one.place)))
                    )
            dollars = sum(option.price.dollars for option in found)
            if len(found) == len(list(self._options.needs_of(way))) and (best is None or dollars < best[0]):
                best = (dollars, way, [option.place for option in found])
        return best[1:] if best else None

    def _alternatives(self, place: Placement, chosen: Selection) -> list[Option]:
        """The options that serve whatever no other selected key of the entity serves."""
        if place.entity not in self._options.others or place.candidate.fixed:
            return []
        others = [self._serving(p) for p in chosen.placed if p.entity == place.entity and p != place]
        serving = self._serving(place)
        unused = [one for one in serving if isinstance(one, CollectionPlace) and one not in chosen.together]
        alone = serving.difference(*others, unused)
        return [
            option
            for option in self._options_at(place)
            if option.place.candidate != place.candidate and alone <= _served(moved(option, place.slot))
        ]

    def _options_at(self, place: Placement) -> list[Option]:
        if place.item != OWN:
            return self._options.copies[place.entity]
        return (self._options.bases if place.slot == BASE else self._options.others)[place.entity]

    def _serving(self, place: Placement) -> frozenset[object]:
        if place.candidate.fixed:
            return _served(self._options.fixed_option(place))
        return _served(moved(self._option_of(place), place.slot))

    def _option_of(self, place: Placement) -> Option:
        return next(one for one in self._options_at(place) if one.place.candidate == place.candidate)


def _served(option: Option) -> frozenset[object]:
    """The reads that a key serves, and the writes that find their items by it."""
    return frozenset((*option.serves, *option.finds))


def _anywhere(served: frozenset[object]) -> frozenset[object]:
    """The same with reads of several entities in any slot."""
    return frozenset(replace(one, slot=BASE) if isinstance(one, CollectionPlace) else one for one in served)
