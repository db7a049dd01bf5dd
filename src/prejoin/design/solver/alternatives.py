"""Other keys in place of selected ones: `Alternatives(options)`, for the steps of the local search and for repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from prejoin.design.solver.placement import BASE, OWN, CollectionPlace, Placement, Selection
from prejoin.design.solver.program.options import ComponentOptions, KeyOption, in_slot
from prejoin.design.solver.program.pricing import Price


class Alternatives:
    """The alternatives to selected keys among the options of a component."""

    def __init__(self, options: ComponentOptions) -> None:
        self._options = options

    def narrowing(self, selection: Selection) -> Iterator[tuple[Placement, Placement]]:
        """Each selected key of an entity with reads that name the attributes they want, and its alternatives.

        An index that holds only these attributes may cost less than the program knows. The keys of other entities come
        last: they may have been chosen for reads that are served elsewhere by now.
        """
        own = [placement for placement in selection.placed if placement.entity in self._options.prices]
        narrow_entities = {p.entity for p in own if self._options.wanted_attributes(p.entity) is not None}
        if not narrow_entities:
            return
        for placement in sorted(own, key=lambda placement: placement.entity not in narrow_entities):
            for option in self._alternatives(placement, selection):
                yield placement, replace(placement, candidate=option.placement.candidate)

    def sparing(self, selection: Selection) -> Iterator[tuple[Placement, Placement]]:
        """Each selected key, and its cheaper alternatives that the program avoids, because a write has to read first.

        With natural keys the write may not have to.
        """
        for placement in selection.placed:
            for option in self._alternatives(placement, selection):
                price = self._option_of(placement).price
                if _saving(price, option.price) > 0 and option.price.read_first - price.read_first:
                    yield placement, replace(placement, candidate=option.placement.candidate)

    def turning(self, placements: Iterable[Placement]) -> Iterator[tuple[set[Placement], set[Placement]]]:
        """The key in the table and a key in a new index of an entity as in `narrowing`, and two keys in place of both.

        The new key in the table serves something that only the index served.
        """
        selected_keys = list(placements)
        for base in selected_keys:
            if not base.is_base or base.candidate.fixed or self._options.wanted_attributes(base.entity) is None:
                continue
            own = [placement for placement in selected_keys if placement.entity == base.entity]
            for index in own:
                if index.slot < self._options.new:
                    continue
                other_services = [self._services_of(placement) for placement in own if placement not in (base, index)]
                for new_base, new_index in self._exchanges(base, index, other_services):
                    yield {base, index}, {new_base.placement, replace(index, candidate=new_index.placement.candidate)}

    def _exchanges(
        self, base: Placement, index: Placement, other_services: list[frozenset[object]]
    ) -> Iterator[tuple[KeyOption, KeyOption]]:
        """Two other options that serve whatever the other keys do not. No write knows less of the new key."""
        base_option = self._option_of(base)
        served_by_base = _in_any_slot(_services(base_option))
        served_by_index = _in_any_slot(_services(self._option_of(index)))
        required_services = (served_by_base | served_by_index).difference(*map(_in_any_slot, other_services))
        for option in self._options.base_options[base.entity]:
            services = _in_any_slot(_services(option))
            if not services & (served_by_index - served_by_base) or not option.knows >= base_option.knows:
                continue
            for index_option in self._options.index_options[base.entity]:
                if required_services <= services | _in_any_slot(_services(index_option)):
                    yield option, index_option

    def own_index(self, read: str) -> tuple[CollectionPlace, list[Placement]] | None:
        """The keys of a read of several entities in a new index that it shares with none of their other keys."""
        best: tuple[float, CollectionPlace, list[Placement]] | None = None
        for place in self._options.collection_places[read]:
            new_place = replace(place, slot=self._options.new)
            options = self._cheapest_in(new_place)
            dollars = sum(option.price.dollars for option in options)
            is_whole = len(options) == len(self._options.needs_of(new_place))
            if is_whole and (best is None or dollars < best[0]):
                best = (dollars, new_place, [option.placement for option in options])
        return best[1:] if best else None

    def _cheapest_in(self, place: CollectionPlace) -> list[KeyOption]:
        """The cheapest key in a place of each entity of its read that can have one there."""

        def rank(option: KeyOption) -> tuple[bool, float, int]:
            return option.price.hot, option.price.dollars, self._options.taste(option.placement)

        cheapest: list[KeyOption] = []
        for name in dict.fromkeys(need.entity for need in self._options.needs_of(place)):
            options = [option for option in self._options.index_options[name] if place in option.collections]
            if options:
                cheapest.append(min(options, key=rank))
        return cheapest

    def _alternatives(self, placement: Placement, selection: Selection) -> list[KeyOption]:
        """The options that serve whatever no other selected key of the entity serves."""
        if placement.entity not in self._options.index_options or placement.candidate.fixed:
            return []
        own = [other for other in selection.placed if other.entity == placement.entity]
        other_services = [self._services_of(other) for other in own if other != placement]
        services = self._services_of(placement)
        # A read of several entities takes one place only: a key in another one is not needed for it.
        places = {service for service in services if isinstance(service, CollectionPlace)}
        unused_places = places.difference(selection.collections)
        required_services = services.difference(*other_services, unused_places)
        alternatives: list[KeyOption] = []
        for option in self._options_at(placement):
            is_other = option.placement.candidate != placement.candidate
            if is_other and required_services <= _services(in_slot(option, placement.slot)):
                alternatives.append(option)
        return alternatives

    def _options_at(self, placement: Placement) -> list[KeyOption]:
        """The options for the same kind of place: the table, an index, or a copy in the table."""
        if placement.item != OWN:
            return self._options.copy_options[placement.entity]
        if placement.slot == BASE:
            return self._options.base_options[placement.entity]
        return self._options.index_options[placement.entity]

    def _services_of(self, placement: Placement) -> frozenset[object]:
        if placement.candidate.fixed:
            return _services(self._options.fixed_option(placement))
        return _services(in_slot(self._option_of(placement), placement.slot))

    def _option_of(self, placement: Placement) -> KeyOption:
        options = self._options_at(placement)
        return next(option for option in options if option.placement.candidate == placement.candidate)


def _saving(price: Price, other: Price) -> float:
    """How much less another key costs in a month, with the reads that both answer."""
    common_reads = [read for read in other.answers if read in price.answers]
    reads = sum(price.answers[read].dollars - other.answers[read].dollars for read in common_reads)
    return price.dollars - other.dollars + reads


def _services(option: KeyOption) -> frozenset[object]:
    """The reads that a key serves, and the writes that find their items by it."""
    return frozenset((*option.serves, *option.finds))


def _in_any_slot(services: frozenset[object]) -> frozenset[object]:
    """The same with reads of several entities in any slot."""
    return frozenset(replace(s, slot=BASE) if isinstance(s, CollectionPlace) else s for s in services)
