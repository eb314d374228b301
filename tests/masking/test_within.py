"""Masking inside clusters or strata: the parts, their independence, and the file put together again."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError, TooFewRecordsError
from microveil.losses.categorical.distance import DBIL
from microveil.masking import Method, Plan
from microveil.masking.coarsening.global_median import GlobalMedian
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.randomising.restore import Restore
from microveil.masking.randomising.rounding import Rounding
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.masking.within import Within
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.perturbing.rounding import base_by_spread
from microveil.progress import silent
from microveil.protection import protect
from microveil.randomness import Streams

EIGHT = [(0, 0), (0, 1), (1, 0), (4, 4), (4, 3), (3, 4), (0, 4), (1, 4)]


def eight() -> Microdata:
    schema = Schema([Attribute(name=n, kind="ordinal", roles=("key",), domain=tuple(range(5))) for n in "ab"])
    a, b = zip(*EIGHT, strict=True)
    return Microdata.of({"a": list(a), "b": list(b)}, schema)


def values(data: Microdata) -> list[tuple[object, ...]]:
    return list(zip(*(data.arrow(name).to_pylist() for name in data.names), strict=True))


@pytest.mark.spec("06:PC-01", "06:PC-05", "06:PC-06")
@pytest.mark.parametrize(
    ("method", "near", "far", "distances"),
    [(MDAVGeneric(k=3), (0, 1), (4, 4), (4.0, 2.4)), (GlobalMedian(k=3), (0, 2), (3, 3), (5.2, 3.0))],
)
def test_the_worked_example(
    method: Method, near: tuple[int, int], far: tuple[int, int], distances: tuple[float, float]
) -> None:
    """Three clusters of 3, 3 and 2 records; the small one is merged with the first, and each is masked."""
    release = Within(method=method, clusters=3).mask(eight(), seed=1)
    assert values(release.data) == [near] * 3 + [far] * 3 + [near] * 2
    for form, expected in zip(("inclusive", "half-open"), distances, strict=True):
        moved = DBIL(ordinal_distance=form).measure(eight(), release)  # type: ignore[arg-type]
        assert moved.details["distance"] == pytest.approx(expected)
        assert moved.value == pytest.approx(100 * expected / 16)


METHODS: list[Method] = [
    MDAVGeneric(k=4),
    GlobalMedian(k=4),
    MDAV(k=4),
    Mondrian(k=4, publish="interval"),
    Noise(alpha=0.2),
    RankSwapping(),
]


@pytest.mark.spec("06:PC-01")
@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_one_cluster_is_the_method_on_the_whole_file(method: Method) -> None:
    """With the same random numbers; in releases each has its own."""
    data = survey(80, seed=3)
    names = tuple(name for name in data.schema.keys if data[name].kind in method.takes)
    alone = method._mask(data, names, Streams(4), silent)
    within = Within(method=method, clusters=1)._mask(data, names, Streams(4), silent)
    assert within.columns == alone.columns
    assert within.attributes == alone.attributes
    assert within.partitions == alone.partitions


@pytest.mark.spec("06:PC-01", "06:PC-06", "06:PC-07")
@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(2, 12),
    st.booleans(),
    st.sampled_from(["two-smallest", "nearest"]),
    st.integers(0, 5),
)
def test_k_records_share_every_combination_for_any_number_of_clusters(
    clusters: int, k: int, micro: bool, merge: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 6, 90).tolist() for name in "abc"}
    data = Microdata.of(columns, ordinal=list("abc"), keys=list("abc"))
    method: Method = MDAVGeneric(k=k) if micro else GlobalMedian(k=k)
    release = Within(method=method, clusters=clusters, starts=2, merge=merge).mask(data, seed=seed)  # type: ignore[arg-type]
    assert release.guarantees.k >= k
    assert release.partition is not None
    assert release.partition.smallest >= k


@pytest.mark.spec("06:PC-01")
def test_records_keep_their_order_and_other_columns_their_cells() -> None:
    data = survey(150, seed=1)
    names = list(data.schema.keys)
    release = Within(method=MDAVGeneric(k=3), clusters=6).mask(data, names, seed=2)
    for name in release.data.names:
        if name not in (*names, "household"):
            assert release.data.arrow(name).equals(data.arrow(name))
    assert release.partition is not None
    for rows in release.partition.groups:  # a group publishes one value, whatever part it is of
        for name in names:
            cells = release.data.arrow(name).take(rows[data.missing_states(name)[rows] == 0])
            assert len(set(cells.to_pylist())) <= 1


def test_each_part_is_masked_as_if_it_were_alone() -> None:
    """The parts of strata are known, so each can be masked by itself and compared."""
    rng = np.random.default_rng(8)
    data = Microdata.of(
        {"town": ["u", "v"] * 20, "x": rng.normal(size=40), "y": rng.normal(size=40)}, strata=["town"], keys=["x", "y"]
    )
    release = Within(method=MDAV(k=4), by="strata").mask(data, ["x", "y"], seed=1)
    for start in (0, 1):
        rows = np.arange(start, 40, 2)
        alone = MDAV(k=4).mask(data.take(rows), ["x", "y"]).data
        for name in ("x", "y"):
            assert release.data.take(rows).arrow(name).equals(alone.arrow(name))


def test_random_methods_draw_anew_in_every_part() -> None:
    data = Microdata.of({"town": ["u"] * 30 + ["v"] * 30, "x": list(range(30)) * 2}, strata=["town"], keys=["x"])
    released = Within(method=Noise(alpha=0.5), by="strata").mask(data, ["x"], seed=1).data.numbers("x").values
    assert (released[:30] != released[30:]).any()
    again = Within(method=Noise(alpha=0.5), by="strata").mask(data, ["x"], seed=1).data.numbers("x").values
    assert (released == again).all()


def test_swapping_within_strata_keeps_the_values_of_each() -> None:
    data = Microdata.of(
        {"town": ["u", "v", "w"] * 20, "x": np.random.default_rng(1).permutation(60)}, strata=["town"], keys=["x"]
    )
    release = Within(method=RankSwapping(), by="strata").mask(data, ["x"], seed=5)
    for start in range(3):
        rows = np.arange(start, 60, 3)
        assert sorted(release.data.take(rows).arrow("x").to_pylist()) == sorted(data.take(rows).arrow("x").to_pylist())


def test_a_part_has_the_domain_of_the_whole_file() -> None:
    """In each stratum only one category occurs; by the domain of the whole, PRAM can still leave it."""
    data = Microdata.of(
        {"town": ["u"] * 40 + ["v"] * 40, "job": ["a"] * 40 + ["b"] * 40}, strata=["town"], keys=["job"]
    )
    released = Within(method=PRAM(p=0.5), by="strata").mask(data, ["job"], seed=1).data
    assert set(released.arrow("job").to_pylist()[:40]) == {"a", "b"}


def test_intervals_of_all_parts_make_one_domain() -> None:
    data = Microdata.of({"town": list("uuuuvvvv"), "x": [1, 2, 5, 6, 1, 2, 8, 9]}, strata=["town"], keys=["x"])
    released = Within(method=Mondrian(k=2, publish="interval"), by="strata").mask(data, ["x"]).data
    assert released.arrow("x").to_pylist() == ["[1, 2]"] * 2 + ["[5, 6]"] * 2 + ["[1, 2]"] * 2 + ["[8, 9]"] * 2
    assert released["x"].domain is not None
    assert set(released["x"].domain) == {"[1, 2]", "[5, 6]", "[8, 9]"}
    assert released["x"].domain[0] == "[1, 2]"
    assert released.categories("x").codes.tolist()[0] == 0


@pytest.mark.spec("06:PC-01")
def test_a_plan_with_a_method_inside_makes_the_same_release() -> None:
    data = survey(60, seed=2)
    made = Within(method=MDAV(k=4, block=2), clusters=3).mask(data, ["age", "income"], seed=6)
    text = made.plan.to_toml()
    assert 'name = "mdav"' in text
    again = protect(data, Plan.from_plain(tomllib.loads(text)))
    assert again.data.digest() == made.data.digest()
    short = {"seed": 6, "steps": [{"method": "within", "attributes": ["age", "income"], "parameters": {}}]}
    short["steps"][0]["parameters"] = {"method": {"name": "mdav", "k": 4, "block": 2}, "clusters": 3}  # type: ignore[index]
    assert protect(data, Plan.from_plain(short)).data.digest() == made.data.digest()


def test_it_takes_the_kinds_of_the_method_inside() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0], "job": list("abab")})
    assert Within(method=PRAM()).mask(data, seed=1).provenance.attributes == ("job",)
    with pytest.raises(DataError, match="'job' is nominal, but within works on numeric"):
        Within(method=MDAV(k=2)).mask(data, ["job"])


@pytest.mark.parametrize("merge", ["two-smallest", "nearest"])
def test_more_clusters_than_records_are_fewer_clusters_and_said_so(merge: str) -> None:
    release = Within(method=MDAVGeneric(k=2), clusters=50, merge=merge).mask(eight(), seed=1)  # type: ignore[arg-type]
    assert release.guarantees.k >= 2
    assert any("8 clusters only, not 50" in note for note in release.provenance.notes)


def test_what_cannot_be_divided_is_refused_in_one_sentence() -> None:
    data = Microdata.of({"town": list("uuv"), "x": [1, 2, 3]}, keys=["x"])
    with pytest.raises(DataError, match="within with parts of 4 needs at least 4"):
        Within(method=MDAV(k=4)).mask(data)
    with pytest.raises(ParameterError, match="within: by = 'strata' is not allowed; no attribute has the role stratum"):
        Within(method=MDAV(k=2), by="strata").mask(data)
    with pytest.raises(DataError, match="1 stratum have fewer than 2 records"):
        Within(method=MDAV(k=2), by="strata").mask(Microdata.of(data, strata=["town"]), ["x"])


def test_missing_cells_of_different_records_are_apart_when_clusters_are_made() -> None:
    x = [1.0, 1.0, 1.0, None, None, None]
    data = Microdata.of({"x": x, "y": [1.0, 1.1, 1.2, 1.0, 1.1, 1.2]}, keys=["x", "y"])
    release = Within(method=MDAV(k=3), clusters=2).mask(data, seed=1)
    assert release.partition is not None
    assert release.partition.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_centres_of_least_distance_and_a_larger_smallest_part_are_options() -> None:
    data = survey(100, seed=5)
    release = Within(method=PRAM(p=0.7), smallest=20, clusters=8, centre="least", starts=3).mask(
        data, [n for n in data.schema.keys if data[n].kind == "nominal"], seed=1
    )
    (note,) = [note for note in release.provenance.notes if "the smallest of" in note]
    assert int(note.split("smallest of ")[1].split(" ")[0]) >= 20


def test_sampling_inside_adjusts_the_weights_of_every_part_that_is_not_released_whole() -> None:
    """A part of one record is released whole and keeps its weight; whichever part comes first, the others do not."""
    for towns in ("uvvvv", "vvvvu"):
        data = Microdata.of(
            {"town": list(towns), "x": list("abcde"), "w": [10.0] * 5}, strata=["town"], weight="w", keys=["x"]
        )
        release = Within(method=Sampling(share=0.5), by="strata", smallest=1).mask(data, ["x"], seed=1)
        found = dict(zip(release.frame["town"].to_pylist(), release.frame["w"].to_pylist(), strict=True))
        assert found == {"u": 10.0, "v": 20.0}
        assert len(release) == 3
        assert release.rows is not None
        assert release.data.arrow("x").to_pylist() == [list("abcde")[row] for row in release.rows]


def test_rounding_inside_has_parts_of_two_records_at_least() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 3.0, 41.0, 42.0, 43.0]}, keys=["x"])
    release = Within(method=Rounding(base=5.0), clusters=2).mask(data, seed=1)
    assert release.data.arrow("x").to_pylist() == [0.0, 0.0, 5.0, 40.0, 40.0, 45.0]


def test_whole_numbers_of_some_parts_and_empty_cells_of_others_make_one_column() -> None:
    data = Microdata.of({"town": list("uuuuvvvv"), "x": [1, 1, 2, 2, 1, 1, 1, 2]}, strata=["town"], keys=["x"])
    release = Within(method=Suppress(k=2), by="strata").mask(data, ["x"], seed=1)
    cells = release.data.arrow("x").to_pylist()
    assert cells[:4] == [1, 1, 2, 2]
    assert cells.count(None) == 1


def test_value_labels_of_all_parts_are_kept() -> None:
    data = Microdata.of({"town": list("uuuuvvvv"), "job": list("aaabcccd")}, strata=["town"], keys=["job"])
    merged = Recode(by="map", map={"first": ["a", "b"], "last": ["c", "d"]})
    release = Within(method=merged, by="strata", smallest=2).mask(data, ["job"])
    assert release.data["job"].value_labels == {"a": "first", "c": "last"}


def test_a_value_label_that_is_not_right_for_all_parts_is_left_out_with_a_note() -> None:
    """c stands for b and c in one part and for a and c in the other."""
    data = Microdata.of({"town": list("uuuuuvvvvv"), "job": list("aabccabbcc")}, strata=["town"], keys=["job"])
    release = Within(method=Recode(by="rare", p=2), by="strata", smallest=2).mask(data, ["job"])
    assert release.data.arrow("job").to_pylist() == list("aaccccbbcc")
    assert release.data["job"].value_labels == {}
    assert any("'job': 1 value label left out, which would" in note for note in release.provenance.notes)


def test_transition_matrices_that_all_parts_share_are_kept_and_others_are_noted() -> None:
    data = Microdata.of({"town": list("uuuvvv"), "job": list("aababb")}, strata=["town"], keys=["job"])
    same = Within(method=PRAM(matrix="entropy"), by="strata").mask(data, ["job"], seed=1)
    assert same.matrices[("job",)].shape == (2, 2)
    assert not any("transition matrix" in note for note in same.provenance.notes)
    own = Within(method=PRAM(matrix="uniform"), by="strata").mask(data, ["job"], seed=1)
    assert not own.matrices
    assert any("every part has a transition matrix of its own for job" in note for note in own.provenance.notes)


def test_notes_that_differ_in_their_numbers_only_are_said_once() -> None:
    rng = np.random.default_rng(1)
    towns = np.repeat(list("uvw"), 20)
    data = Microdata.of(
        {"town": towns, "x": rng.normal(size=60) * np.repeat([1, 10, 100], 20)}, strata=["town"], keys=["x"]
    )
    release = Within(method=Rounding(), by="strata").mask(data, ["x"], seed=1)
    bases = [base_by_spread(float(part.std())) for part in data.numbers("x").values.reshape(3, 20)]
    said = f"rounding: the base is {min(bases):g} to {max(bases):g} for x (in 3 parts of 3)"
    assert release.provenance.notes == (said,)


def test_parts_are_large_enough_for_the_method_inside_the_method() -> None:
    data = survey(60, seed=4)
    release = Within(method=Restore(first=MDAV(k=7)), clusters=6).mask(data, ["age", "income"], seed=1)
    (note,) = [note for note in release.provenance.notes if "the smallest of" in note]
    assert int(note.split("smallest of ")[1].split(" ")[0]) >= 7


def test_a_part_that_is_too_small_is_called_a_part() -> None:
    data = Microdata.of({"t": ["u"] * 10 + ["v"] * 50, "x": list(range(60))}, strata=["t"], keys=["x"])
    with pytest.raises(DataError, match=r"^a part has 10 records, but mdav with k = 20 needs at least 20$"):
        Within(method=MDAV(k=20), by="strata", smallest=2).mask(data, ["x"])
    with pytest.raises(TooFewRecordsError, match=r"^the table has 60 records, but within with parts of 70 needs"):
        Within(method=MDAV(k=70)).mask(data, ["x"])


def test_what_the_whole_table_lacks_is_not_said_of_a_part() -> None:
    data = Microdata.of({"t": ["u"] * 10 + ["v"] * 50, "x": list(range(60))}, strata=["t"], keys=["x"])
    with pytest.raises(DataError, match="but the table has no attribute with the role weight"):
        Within(method=Suppress(k=2, weighted=True, risk=0.5), by="strata", smallest=2).mask(data, ["x"])


def test_a_file_of_one_stratum_is_masked_as_a_whole() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 7.0, 9.0], "region": ["n"] * 4}, strata=["region"])
    release = Within(method=MDAV(k=2), by="strata").mask(data, ["x"], seed=1)
    assert release.data.numbers("x").values.tolist() == [1.5, 1.5, 8.0, 8.0]
    assert release.partition is not None
    assert release.partition.sizes.tolist() == [2, 2]
