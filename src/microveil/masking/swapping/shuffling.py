"""Data shuffling: the values of an attribute are put in the order of draws from a model given the other attributes."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.masking.base import Masked, Method
from microveil.masking.notes import DRAWN_ONE_BY_ONE, Note
from microveil.masking.synthesis.columns import UNSET_GIVEN, Column, Drawn, columns_given
from microveil.masking.synthesis.latent import CopulaModel, arranged, draw_normal, usable_as_numbers
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams

_FEWEST = 3


@parameterised
class Shuffling(Method):
    """Puts the values of each attribute in another order, which follows its relation to the others but not the records.

    For every record, values are drawn from a model given the attributes that stay with it (`given`), independently of
    its own values of the shuffled ones. The smallest original value then goes to the record with the smallest draw, the
    next one to the next, and so on. So every value is released as often as it occurs, and marginal distributions stay
    exactly as they are; ranks correlate as in the original, with the attributes that stay and with each other.

    `copula` models ranks: normal variables behind the attributes, with the correlation that belongs to their ranks,
    whatever their distribution; monotone relations are kept. `normal` models the values themselves, which suits linear
    relations between symmetric distributions. Relations that are not monotone are lost in both. Where all attributes
    are shuffled, no record of the release belongs to any one of the original.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70, 38, 55], "income": [20, 28, 25, 19, 24, 30]})
    >>> sorted(Shuffling().mask(people, ["income"], seed=1).frame["income"].to_pylist())
    [19, 20, 24, 25, 28, 30]
    """

    name: ClassVar[str] = "shuffling"
    family: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "data shuffling: values are put in the order of draws from a model given the others"
    joint: ClassVar[bool] = True
    detaches_values: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal")
    missing: ClassVar[str] = (
        "which cells are missing is drawn for a record as a whole, independently of its values; cells that are not "
        "applicable stay where they are"
    )
    weights: ClassVar[str] = (
        "sampling weights are not used as weights; they are released as they are, and values are drawn given them"
    )
    source: ClassVar[str] = "Muralidhar and Sarathy (2006)"

    model: Literal["copula", "normal"] = parameter(
        default="copula", help="what is drawn: normal variables behind the ranks (copula), or values (normal)"
    )
    given: tuple[str, ...] | None = parameter(
        default=None,
        help=f"attributes that stay with their records and that the shuffled ones are drawn given; {UNSET_GIVEN}",
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, _FEWEST, self.name)
        columns = [Column.of(data, name) for name in attributes]
        given = columns_given(data, attributes, self.given, self.name)
        drawn, notes = self._drawn(columns, given, streams, progress)
        notes += [DRAWN_ONE_BY_ONE(attribute=name) for name in data.schema.having("household")]
        return Masked({name: drawn[name].published(data, name) for name in attributes}, notes=tuple(notes))

    def _drawn(
        self, columns: list[Column], given: list[Column], streams: Streams, progress: Progress
    ) -> tuple[dict[str, Drawn], list[Note]]:
        if self.model == "copula":
            model = CopulaModel(stratified=True, smooth=False, common=0, label=self.name)
            return model.draw(columns, given, streams, progress), []
        usable, notes = usable_as_numbers(given)
        return arranged(columns, draw_normal(columns, usable, streams), streams), notes
