"""The random-frontier crawler: whom it draws, how gently it asks, and that a kill changes nothing."""

from __future__ import annotations

import json
import logging
import stat
from collections import Counter, deque
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import Cancelled, DataError, FileError, ParameterError
from microveil.graphs.crawling import (
    LOCAL,
    Crawl,
    Limits,
    Post,
    RateLimiter,
    SyntheticSource,
    TryAgainError,
    UnreachableUserError,
    User,
    UserRecord,
    crawl,
)


class Network:
    """A small network; users of `private` cannot be reached, those of `busy` answer after so many attempts."""

    def __init__(self, follows: dict[str, str], private: str = "", busy: dict[str, int] | None = None) -> None:
        self.follows, self.private, self.busy = follows, private, busy or {}
        self.asked: list[tuple[str, str]] = []
        self.attempts: Counter[tuple[str, str]] = Counter()
        self.dies_at = -1
        self.after: float | None = None

    def _answer(self, what: str, user_id: str) -> None:
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        self.asked.append((what, user_id))
        self.attempts[what, user_id] += 1
        if self.attempts[what, user_id] <= self.busy.get(user_id, 0):
            raise TryAgainError(self.after)
        self.attempts[what, user_id] = 0
        if user_id in self.private or user_id not in self.follows:
            raise UnreachableUserError("the user is private")

    def user(self, user_id: str, /) -> User:
        self._answer("user", user_id)
        return User(user_id, f"place of {user_id}")

    def following(self, user_id: str, /) -> list[str]:
        self._answer("following", user_id)
        return list(self.follows[user_id])

    def posts(self, user_id: str, number: int, /) -> list[Post]:
        self._answer("posts", user_id)
        return [Post.of(f"{user_id} says #tag{i} https://a.example/{i}") for i in range(5)]


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def crawled(source: Any, start: str = "a", *, seed: int = 1, users: int = 99, posts: int = 2, **options: Any) -> Crawl:
    rng = options.pop("rng", np.random.default_rng(seed))
    return crawl(source, start, users=users, posts=posts, rng=rng, **{"limits": LOCAL} | options)


def ids(found: Crawl) -> list[str]:
    return [record.id for record in found.records]


STAR = {"a": "bcdef", "b": "a", "c": "", "d": "a", "e": "", "f": "aab"}
CHAIN = {"a": "b", "b": "cb", "c": "ab", "d": "a"}


@pytest.mark.spec("06:SG-01")
def test_a_crawl_takes_the_first_user_and_all_who_can_be_reached_once() -> None:
    found = crawled(Network(CHAIN))
    assert ids(found) == ["a", "b", "c"]
    assert found.stopped == "frontier"
    assert found.requests == 9
    assert found.failed == {}


@pytest.mark.spec("06:SG-01")
def test_a_record_has_location_followed_users_posts_hashtags_and_links() -> None:
    (record,) = crawled(Network({"a": "bcb"}), users=1).records
    assert (record.id, record.location, record.following) == ("a", "place of a", ("b", "c"))
    assert [post.text[:6] for post in record.posts] == ["a says", "a says"]
    assert record.hashtags == ("tag0", "tag1")
    assert record.urls == ("https://a.example/0", "https://a.example/1")


@pytest.mark.spec("06:SG-01")
def test_a_crawl_stops_at_the_wanted_number_and_asks_for_nobody_more() -> None:
    source = Network(STAR)
    found = crawled(source, users=3)
    assert len(found.records) == 3
    assert found.stopped == "users"
    assert {user_id for _, user_id in source.asked} == set(ids(found))


@pytest.mark.spec("06:SG-01")
def test_failed_users_are_counted_never_return_and_take_nobodys_place() -> None:
    source = Network({**STAR, "b": "ac", "c": "bd"}, private="ce")
    found = crawled(source, users=4)
    assert sorted(ids(found)) == ["a", "b", "d", "f"]
    assert set(found.failed) <= {"c", "e"}
    whole = crawled(Network({**STAR, "b": "ac", "c": "bd"}, private="ce"))
    assert whole.failed == {"c": "unreachable", "e": "unreachable"}
    assert whole.requests == 4 * 3 + 2
    assert max(Counter(source.asked).values()) == 1


def test_a_first_user_who_cannot_be_asked_is_an_error() -> None:
    with pytest.raises(DataError, match=r"the first user cannot be asked \(unreachable\); start with another one"):
        crawled(Network(STAR, private="a"))


@pytest.mark.spec("06:SG-01")
def test_draws_are_those_of_the_sorted_frontier() -> None:
    rng, order, waiting = np.random.default_rng(3), ["a"], list("bcdef")
    rng.integers(1)  # the first user is drawn from a frontier of one
    while waiting:
        order.append(waiting.pop(int(rng.integers(len(waiting)))))
    assert ids(crawled(Network(STAR), seed=3)) == order
    shuffled = {user: "".join(reversed(followed)) for user, followed in STAR.items()}
    assert ids(crawled(Network(shuffled), seed=3)) == order


def third_users(frontier: str) -> Counter[str]:
    """Who comes third, after a and b: c is followed by both of them, d by b alone."""
    network = {"a": "bc", "b": "cd", "c": "", "d": ""}
    orders = [ids(crawled(Network(network), seed=seed, frontier=frontier, posts=0)) for seed in range(1200)]
    return Counter(third for _, second, third, _ in orders if second == "b")


@pytest.mark.spec("06:SG-01")
def test_in_a_set_all_are_equally_likely_and_in_a_list_those_whom_many_follow_more() -> None:
    equal, by_followers = third_users("set"), third_users("list")
    assert equal["c"] / equal.total() == pytest.approx(1 / 2, abs=0.07)
    assert by_followers["c"] / by_followers.total() == pytest.approx(2 / 3, abs=0.07)


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.text("abcdefghij", max_size=6), min_size=1),
    st.text("bcdefgh", max_size=3),
    st.integers(1, 9),
    st.sampled_from(["set", "list"]),
    st.integers(0, 5),
)
def test_everybody_is_drawn_at_most_once_and_after_somebody_who_follows_him(
    follows: dict[str, str], private: str, users: int, frontier: str, seed: int
) -> None:
    follows.setdefault("a", "bc")
    found = crawled(Network(follows, private), users=users, seed=seed, frontier=frontier)
    assert len(set(ids(found))) == len(found.records) <= users
    assert not set(ids(found)) & set(found.failed)
    seen = {"a"}
    for record in found.records:
        assert record.id in seen
        seen |= set(record.following)
    assert set(found.failed) <= seen
    assert len(found.records) == users or seen == set(ids(found)) | set(found.failed)


def test_the_same_seed_gives_the_same_crawl_of_an_invented_network() -> None:
    source = SyntheticSource(300, seed=1, private=0.1)
    start = next(u for u in source.user_ids() if not source._is_private[source._number(u)])
    one, other = (crawl(source, start, users=60, posts=3, rng=np.random.default_rng(8)) for _ in range(2))
    assert one == other
    assert len(one.records) == 60
    assert one.failed
    assert ids(crawled(source, start, seed=9, users=60)) != ids(one)


def test_without_posts_nobody_is_asked_for_any() -> None:
    source = Network(CHAIN)
    assert crawled(source, posts=0).requests == 6
    assert "posts" not in {what for what, _ in source.asked}


# --- gently ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.integers(1, 5),
    st.floats(0, 20),
    st.floats(0, 5),
    st.lists(st.floats(0, 12), min_size=1, max_size=25),
)
def test_no_period_ever_has_more_requests_than_allowed(
    most: int, period: float, delay: float, pauses: list[float]
) -> None:
    clock = Clock()
    limiter = RateLimiter(Limits(most, period=period, delay=delay), clock, clock.sleep)
    times = []
    for pause in pauses:
        clock.now += pause
        limiter.wait()
        times.append(clock.now)
    assert all(later - earlier >= delay - 1e-6 for earlier, later in pairwise(times))
    assert all(later - earlier >= period - 1e-6 for earlier, later in zip(times, times[most:], strict=False))


def test_a_limiter_sleeps_on_if_a_sleep_ends_early() -> None:
    clock = Clock()
    limiter = RateLimiter(Limits(1, period=10, delay=0), clock, lambda seconds: clock.sleep(min(seconds, 3.0)))
    limiter.wait()
    limiter.wait()
    assert clock.now == 10


def test_a_source_elsewhere_is_asked_gently_and_one_on_this_machine_at_once() -> None:
    clock = Clock()
    crawled(Network(CHAIN), limits=None, clock=clock, sleep=clock.sleep)
    assert clock.slept == [1.0] * 8
    clock = Clock()
    found = crawled(Network(STAR), limits=None, clock=clock, sleep=clock.sleep)
    assert found.requests == 18
    assert clock.now == 62  # 15 requests in the first minute, three in the second
    source = SyntheticSource(30, seed=1)
    waited = Clock()
    crawl(source, "u00", users=5, posts=1, rng=np.random.default_rng(1), clock=waited, sleep=waited.sleep)
    assert waited.slept == []


def test_a_limit_of_requests_ends_the_crawl_with_the_users_who_are_complete() -> None:
    for total in range(3, 18):
        source = Network(STAR)
        found = crawled(source, limits=Limits(None, delay=0, total=total))
        assert len(source.asked) == total
        assert len(found.records) == total // 3
        assert found.stopped == "requests"
    assert crawled(Network(STAR), limits=Limits(None, delay=0, total=18)).stopped == "frontier"


def test_a_busy_source_is_asked_again_after_longer_and_longer() -> None:
    clock, source = Clock(), Network({"a": ""}, busy={"a": 3})
    found = crawled(source, limits=Limits(None, delay=0, backoff=2, longest_wait=7), clock=clock, sleep=clock.sleep)
    assert ids(found) == ["a"]
    assert found.requests == 12
    assert clock.slept == [2, 4, 7] * 3


def test_a_busy_source_that_says_when_is_asked_then() -> None:
    clock, source = Clock(), Network({"a": ""}, busy={"a": 1})
    source.after = 33.0
    crawled(source, posts=0, clock=clock, sleep=clock.sleep)
    assert clock.slept == [33, 33]


def test_who_stays_busy_has_failed() -> None:
    clock, source = Clock(), Network(STAR, busy={"c": 3})
    found = crawled(source, limits=Limits(None, delay=0, retries=2), clock=clock, sleep=clock.sleep)
    assert found.failed == {"c": "busy"}
    assert len(found.records) == 5
    assert found.requests == 5 * 3 + 3


# --- after a kill ----------------------------------------------------------------------------------------------------


def difficult() -> Network:
    return Network({**STAR, "b": "agc", "g": "h", "h": "dij", "j": "a"}, private="e", busy={"d": 1, "g": 2})


def killed_at(request: int, state: Path, **options: Any) -> None:
    source = difficult()
    source.dies_at = request
    with pytest.raises(KeyboardInterrupt):
        crawled(source, state=state, sleep=lambda _: None, **options)


@pytest.mark.spec("06:SG-01")
@pytest.mark.parametrize("frontier", ["set", "list"])
def test_a_crawl_that_is_killed_at_any_request_goes_on_to_the_same_result(tmp_path: Path, frontier: str) -> None:
    options: dict[str, Any] = {"frontier": frontier, "sleep": lambda _: None}
    source = difficult()
    whole = crawled(source, **options)
    assert len(whole.records) == 8
    assert set(whole.failed) == {"e", "i"}
    for request in range(len(source.asked)):
        state = tmp_path / f"{request}.jsonl"
        killed_at(request, state, frontier=frontier)
        second = difficult()
        assert crawled(second, state=state, seed=99, **options) == whole  # the file knows the seed
        finished = request - len([u for _, u in source.asked[:request] if u == source.asked[request][1]])
        assert len(second.asked) == len(source.asked) - finished  # nobody who was complete is asked again


def test_a_crawl_that_is_killed_again_and_again_has_the_same_result(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    for _ in range(5):
        killed_at(7, state)
    assert crawled(difficult(), state=state, sleep=lambda _: None) == crawled(difficult(), sleep=lambda _: None)


def test_a_state_that_was_cut_at_any_byte_leads_to_the_same_result(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    whole = crawled(Network(CHAIN), state=state)
    content = state.read_bytes()
    for length in range(0, len(content) + 1, 7):
        state.write_bytes(content[:length])
        assert crawled(Network(CHAIN), state=state) == whole
        assert state.read_bytes() == content


def test_a_finished_crawl_is_given_again_without_a_request_and_can_go_on_to_more_users(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    few, source = crawled(Network(STAR), users=3, state=state), Network(STAR)
    assert crawled(source, users=3, state=state) == few
    assert source.asked == []
    assert crawled(source, users=2, state=state).records == few.records[:2]
    assert crawled(source, users=6, state=state) == crawled(Network(STAR), users=6)


def test_a_crawl_that_came_to_its_limit_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    for total in (4, 5, 8, 9, 13):
        crawled(Network(STAR), limits=Limits(None, delay=0, total=total), state=state)
    assert crawled(Network(STAR), limits=Limits(None, delay=0, total=18), state=state) == crawled(Network(STAR))


def test_after_a_kill_a_whole_period_passes_before_the_next_request(tmp_path: Path) -> None:
    state, clock = tmp_path / "state.jsonl", Clock()
    killed_at(5, state)
    clock.now = 1000.0
    crawled(difficult(), users=2, state=state, limits=Limits(), clock=clock, sleep=clock.sleep)
    assert clock.slept[0] == 60


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.Philox, np.random.MT19937, np.random.SFC64])
def test_every_kind_of_generator_goes_on_where_it_was(tmp_path: Path, kind: Callable[[int], Any]) -> None:
    state = tmp_path / "state.jsonl"
    first, again = np.random.Generator(kind(5)), np.random.Generator(kind(6))
    whole = crawled(Network(STAR), rng=first, state=state)
    assert crawled(Network(STAR), rng=again, state=state) == whole
    assert first.integers(10**9) == again.integers(10**9)


def test_only_the_owner_can_read_the_state(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    crawled(Network(CHAIN), users=1, state=state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    state.chmod(0o644)
    crawled(Network(CHAIN), users=2, state=state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_a_file_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in ("my notes\n", '{"other": 1}\n', "x"):
        path.write_text(content)
        with pytest.raises(FileError, match="is not the state of a crawl; choose another name"):
            crawled(Network(CHAIN), state=path)
        assert path.read_text() == content


@pytest.mark.parametrize(
    ("options", "name"), [({"start": "b"}, "start"), ({"posts": 1}, "posts"), ({"frontier": "list"}, "frontier")]
)
def test_a_state_of_another_question_is_refused(tmp_path: Path, options: dict[str, Any], name: str) -> None:
    state = tmp_path / "state.jsonl"
    crawled(Network(CHAIN), state=state)
    with pytest.raises(FileError, match=f"line 1: was begun with another '{name}'"):
        crawled(Network(CHAIN), state=state, **options)


def test_a_state_of_another_kind_of_generator_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    crawled(Network(CHAIN), state=state)
    with pytest.raises(FileError, match="another kind of random generator"):
        crawled(Network(CHAIN), state=state, rng=np.random.Generator(np.random.Philox(1)))


@pytest.mark.parametrize("damage", ["no json", "[]", "{}", '{"id": "b", "found": {"id": "b"}, "requests": 6}', "\xff"])
def test_a_damaged_line_is_named(tmp_path: Path, damage: str) -> None:
    state = tmp_path / "state.jsonl"
    crawled(Network(CHAIN), state=state)
    lines = state.read_text().splitlines()
    lines[2] = damage
    state.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match="line 3: the line is damaged; begin again in another file"):
        crawled(Network(CHAIN), state=state)


def test_lines_in_another_order_are_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    crawled(Network(CHAIN), state=state)
    header, first, second, third = state.read_text().splitlines(keepends=True)
    state.write_text(header + first + third + second)
    with pytest.raises(FileError, match="line 3: does not fit the lines before it"):
        crawled(Network(CHAIN), state=state)


def test_a_state_in_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        crawled(Network(CHAIN), state=tmp_path / "none" / "state.jsonl")


def test_each_user_is_in_the_file_before_the_next_one_is_asked(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    complete: deque[int] = deque()

    class Watching(Network):
        def user(self, user_id: str, /) -> User:
            complete.append(len(state.read_text().splitlines()) - 1)
            return super().user(user_id)

    crawled(Watching(CHAIN), state=state)
    assert list(complete) == [0, 1, 2]
    assert json.loads(state.read_text().splitlines()[1])["found"]["location"] == "place of a"


# --- progress, secrecy, bad input ------------------------------------------------------------------------------------


def test_progress_rises_to_one_and_names_nobody() -> None:
    told: list[tuple[float, str]] = []
    crawled(Network(STAR), users=4, progress=lambda fraction, label: told.append((fraction, label)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(told) == 13  # before each request, and at the end
    assert told[3] == (0.25, "crawl: 1 of 4 users")


def test_a_cancelled_crawl_can_go_on(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"

    def cancel(fraction: float, label: str, /) -> None:
        if fraction > 0.4:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        crawled(Network(STAR), users=5, state=state, progress=cancel)
    assert crawled(Network(STAR), users=5, state=state) == crawled(Network(STAR), users=5)


def test_records_show_sizes_and_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        found = crawled(Network(STAR, private="e"))
    assert caplog.text == ""
    assert repr(found) == "Crawl(5 records, 1 failed, stopped='frontier')"
    assert repr(found.records[0]) == "UserRecord(5 followed, 2 posts)"
    assert "place" not in str(found.records)


@pytest.mark.parametrize("wrong", ["user", "following", "posts"])
def test_a_source_that_answers_something_else_is_told_so(wrong: str) -> None:
    class Wrong(Network):
        pass

    answers = {"user": "Ann", "following": [1, 2], "posts": ["secret"]}
    setattr(Wrong, wrong, lambda self, *_: answers[wrong])
    with pytest.raises(DataError, match="correct the source") as told:
        crawled(Wrong(CHAIN))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"users": 0}, "users must be a whole number, 1 or more, got 0"),
        ({"users": True}, "users must be"),
        ({"posts": -1}, "posts must be a whole number, 0 or more"),
        ({"posts": 1.5}, "posts must be"),
        ({"start": ""}, "start must be the id"),
        ({"start": 5}, "start must be the id"),
        ({"frontier": "heap"}, "frontier must be 'set' or 'list', got 'heap'"),
    ],
)
def test_impossible_crawls_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        crawled(Network(CHAIN), **options)


@pytest.mark.parametrize(
    "options",
    [{"requests": 0}, {"total": 0}, {"retries": -1}, {"period": -1.0}, {"delay": float("inf")}, {"backoff": "long"}],
)
def test_impossible_limits_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(options))} must be"):
        Limits(**options)


def test_records_are_compared_by_their_content() -> None:
    assert UserRecord("a", None, (), ()) == UserRecord("a", None, (), ())
    assert UserRecord("a", None, (), ()) != UserRecord("a", None, (), (Post("x"),))
