"""Post-masking optimisation: a release brought back to the moments of the original without coming closer to it."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.notes import MOMENTS_RESTORED, Note
from microveil.masking.post_masking import PostMasking
from microveil.microdata import Microdata
from microveil.numerics.choices import MomentKind
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray


@parameterised
class Restore(PostMasking):
    """The records of a release are moved until its means, variances and covariances are those of the original, and
    none comes closer to its own original record than the release had it.

    Records that the release made alike, as microaggregation does, stay alike and move as one, so that k-anonymity is
    kept; for these it is the mean square distance to their original records that does not fall. Told apart, each of
    them keeps its own distance, but can be told from the others again, and linked.

    The sum of the squared relative differences of the first and second moments is made least by L-BFGS, started at the
    release; a record that would come too close is pushed back to its old distance, in standard deviations of the
    original. A moment that is nearly 0 is compared with a hundredth of its standard deviations instead. The sum before
    and after is noted. Values stay in their declared ranges.

    It is a later step: of a plan, or as `mask(release, original=table)`. A table that nothing has masked yet is masked
    by the method `first` before, so that an original is never released as it is.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = Microdata.of({"age": [20.0, 22.0, 41.0, 43.0, 61.0, 65.0]})
    >>> release = Restore().mask(MDAV(k=3).mask(people), original=people)
    >>> values = release.data.numbers("age").values
    >>> bool(abs(values.var() - people.numbers("age").values.var()) < 1.0)
    True
    """

    name: ClassVar[str] = "restore"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = (
        "moves released records until means and covariances are restored, none closer to its original"
    )
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; moments are taken over the cells and pairs of cells present"
    )
    source: ClassVar[str] = "Sebé et al. (2002); Fayyoumi (2008), section 2.4.3"

    alike: Literal["together", "apart"] = parameter(
        default="together", help="records that are alike in the release stay alike, or are moved each by itself"
    )
    moments: MomentKind = parameter(default="central", help="second moments around the mean (covariances) or around 0")
    tolerance: float = parameter(
        default=1e-6, help="stop when the sum of squared relative differences is below this", gt=0, le=1
    )
    iterations: int = parameter(default=500, help="largest number of steps of the optimiser", ge=1, le=1_000_000)

    def _corrected(
        self, data: Microdata, attributes: tuple[str, ...], original: FloatArray, masked: FloatArray, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        from microveil.numerics.statistics.moment_fit import fit_moments

        ranges = np.array([data[name].range or (-np.inf, np.inf) for name in attributes])
        fit = fit_moments(
            original,
            masked,
            (ranges[:, 0], ranges[:, 1]),
            self.moments,
            self.tolerance,
            self.iterations,
            progress,
            f"{self.name}: moving records",
            together=self.alike == "together",
        )
        return fit.rows, (MOMENTS_RESTORED(method=self.name, before=fit.before, after=fit.after),)
