"""Attributes masked some at a time: the blocks, what is left over, and what more steps gain and cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.attacks.anonymity import real_anonymity, shared_groups
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import DataError, ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.in_blocks import mask_in_blocks
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.preparation.attribute_blocks import consecutive_blocks
from microveil.microdata import Microdata
from microveil.protection import protect

FOUR = Microdata.of(
    {name: np.random.default_rng(number).normal(size=40) for number, name in enumerate("abcd")},
    keys=["a", "b", "c", "d"],
)


@pytest.mark.spec("03:MA-1")
def test_the_attributes_left_over_are_dropped_kept_apart_or_merged() -> None:
    census = [f"a{j}" for j in range(1, 14)]
    for size in (2, 3, 4):  # the source drops the thirteenth
        dropped = consecutive_blocks(census, size, "drop")
        assert [name for block in dropped for name in block] == census[:12]
        assert {len(block) for block in dropped} == {size}
        assert consecutive_blocks(census, size) == [*dropped, ("a13",)]
        assert consecutive_blocks(census, size, "merge") == [*dropped[:-1], (*dropped[-1], "a13")]
    assert consecutive_blocks(census[:2], 3) == consecutive_blocks(census[:2], 3, "merge") == [("a1", "a2")]
    assert consecutive_blocks(census[:2], 3, "drop") == []


@pytest.mark.spec("03:MA-1")
def test_blocks_are_masked_apart_and_blocks_of_one_are_individual_ranking() -> None:
    one_by_one = mask_in_blocks(MDAV(k=4), FOUR, consecutive_blocks(FOUR.names, 1))
    assert len(one_by_one.partitions) == 4
    ranked = IndividualRanking(k=4).mask(FOUR)
    for name in FOUR.names:  # 4 divides 40: in one dimension MDAV takes groups of k from both ends
        assert one_by_one.data.numbers(name).values == pytest.approx(ranked.data.numbers(name).values)
    pairs = mask_in_blocks(MDAV(k=4), FOUR, consecutive_blocks(FOUR.names, 2))
    assert list(pairs.partitions) == [("a", "b"), ("c", "d")]
    assert pairs.data.digest() == MDAV(k=4, block=2).mask(FOUR).data.digest()
    assert shared_groups(list(pairs.partitions.values())) == real_anonymity(pairs)
    assert all(partition.smallest == 4 for partition in pairs.partitions.values())


@pytest.mark.spec("01:AP-3")
def test_more_steps_lose_less_and_disclose_more(reference: Callable[..., Microdata]) -> None:
    """Seven of thirteen attributes at once, in two steps of 3 and 4, in three of 3, 2 and 2, or one by one."""
    for name in ("tarragona", "census"):
        table = reference(name)
        seven = table.select(table.names[:7])
        losses, risks, sizes = [], [], []
        for steps in ((7,), (3, 4), (3, 2, 2), (1,) * 7):
            release = mask_in_blocks(MDAV(k=5), seven, consecutive_blocks(seven.names, steps))
            assert [len(block) for block in release.partitions] == list(steps)
            assert len(release.provenance.steps) == len(steps)
            assert min(partition.smallest for partition in release.partitions.values()) == 5
            losses.append(SSE().measure(seven, release).value)
            risks.append(DistanceLinkage().assess(seven, release).value)
            sizes.append(real_anonymity(release).average)
        assert losses == sorted(losses, reverse=True)
        assert risks == sorted(risks)
        assert sizes == sorted(sizes, reverse=True)
        assert risks[-1] > 4 * risks[0]
        assert sizes[0] == pytest.approx(5.0, abs=0.1)


@pytest.mark.spec("01:AP-3")
def test_blocks_are_steps_of_a_plan_that_makes_the_same_release() -> None:
    release = mask_in_blocks(MDAV(k=3, publish="perturb"), FOUR, [["a", "c"], ["d", "b"]], seed=9)
    assert [step.attributes for step in release.plan.steps] == [("a", "c"), ("d", "b")]
    assert protect(FOUR, release.plan).data.digest() == release.data.digest()
    reports: list[float] = []
    mask_in_blocks(MDAV(k=3), FOUR, [["a", "c"], ["d", "b"]], progress=lambda share, _: reports.append(share))
    assert reports == sorted(reports)
    assert reports[-1] == 1.0


@pytest.mark.parametrize(
    ("blocks", "what"),
    [
        ([], "at least one attribute"),
        ([["a", "b", "c", "d"], []], "at least one attribute"),
        ([["a", "b"], ["b", "c", "d"]], "'b' is in more than one block"),
    ],
)
def test_blocks_that_cannot_be_are_refused(blocks: list[list[str]], what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        mask_in_blocks(MDAV(k=3), FOUR, blocks)


def test_a_key_outside_all_blocks_is_refused() -> None:
    with pytest.raises(DataError, match="the key 'd' is in no block and would be released as it is"):
        mask_in_blocks(MDAV(k=3), FOUR, consecutive_blocks(FOUR.names, 3, "drop"))
    kept = FOUR.select(["a", "b", "c"])
    assert mask_in_blocks(MDAV(k=3), kept, consecutive_blocks(kept.names, 3, "drop")).partition is not None


@pytest.mark.parametrize("sizes", [0, (2, 0), -1])
def test_a_block_without_attributes_cannot_be_asked_for(sizes: object) -> None:
    with pytest.raises(ParameterError, match="at least one attribute"):
        consecutive_blocks("abcd", sizes)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="need 5 attributes, but only 4"):
        consecutive_blocks("abcd", (3, 2))


@pytest.mark.parametrize("sizes", [(1.5,), 1.5, True, (True, 1), ("2",)])
def test_sizes_of_blocks_are_whole_numbers(sizes: object) -> None:
    with pytest.raises(ParameterError, match=r"sizes = .* a whole number"):
        consecutive_blocks("abcd", sizes)  # type: ignore[arg-type]


def test_what_becomes_of_those_left_over_must_be_known() -> None:
    with pytest.raises(ParameterError, match="leftover = 'foo' is not allowed; it must be own or merge or drop"):
        consecutive_blocks("abcd", 2, "foo")  # type: ignore[arg-type]


@pytest.mark.parametrize("blocks", ["abcd", ["ab", "cd"]])
def test_blocks_given_as_texts_are_refused(blocks: object) -> None:
    with pytest.raises(ParameterError, match="blocks are lists of names"):
        mask_in_blocks(MDAV(k=3), FOUR, blocks)  # type: ignore[arg-type]


@pytest.mark.parametrize("arrange", ["correlated", "spread"])
def test_arranged_blocks_cannot_take_up_what_is_left_over(arrange: str) -> None:
    with pytest.raises(ParameterError, match=f"leftover = 'merge' is not allowed with arrange = '{arrange}'"):
        MDAV(k=3, block=2, leftover="merge", arrange=arrange)


@pytest.mark.spec("03:MA-1")
@pytest.mark.parametrize(("leftover", "blocks"), [("own", [("a", "b"), ("c",)]), ("merge", [("a", "b", "c")])])
def test_a_method_masks_the_attributes_left_over_as_asked(leftover: str, blocks: list[tuple[str, ...]]) -> None:
    table = {name: [1.0, 2.0, 8.0, 9.0] for name in "abc"}
    assert list(MDAV(k=2, block=2, leftover=leftover).mask(table, seed=1).partitions) == blocks


@pytest.mark.spec("01:AP-4")
def test_a_group_can_publish_its_mode() -> None:
    release = MDAV(k=3, publish="mode").mask({"a": [1.0, 1.0, 2.0, 7.0, 8.0, 9.0]}, seed=1)
    assert release.frame["a"].to_pylist() == [1.0, 1.0, 1.0, 8.0, 8.0, 8.0]
