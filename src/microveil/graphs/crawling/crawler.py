"""The random-frontier crawler of Marés (2013), section 6.1, Algorithm 12: gentle to its source, and resumable."""

from __future__ import annotations

import bisect
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import numpy as np

from microveil.errors import DataError, FileError, ParameterError, brief, errors_of_file, parsed
from microveil.graphs.crawling.sources import Post, SocialSource, TryAgainError, UnreachableUserError, User
from microveil.progress import Progress, silent

Answer = TypeVar("Answer")
FrontierKind = Literal["set", "list"]
Stopped = Literal["users", "frontier", "requests"]
FailureReason = Literal["unreachable", "busy"]


def _check_whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number, {least} or more, got {brief(value)}")


@dataclass(frozen=True)
class UserRecord:
    """What a crawl knows of a user. Its content is personal, so it shows no more than the sizes."""

    id: str
    location: str | None
    following: tuple[str, ...]
    posts: tuple[Post, ...]

    @property
    def hashtags(self) -> tuple[str, ...]:
        """Those of all posts, in their order."""
        return tuple(hashtag for post in self.posts for hashtag in post.hashtags)

    @property
    def urls(self) -> tuple[str, ...]:
        """Those of all posts, in their order."""
        return tuple(url for post in self.posts for url in post.urls)

    def __repr__(self) -> str:
        return f"UserRecord({len(self.following)} followed, {len(self.posts)} posts)"


@dataclass(frozen=True)
class Crawl:
    """The users of a crawl in the order in which they were drawn.

    It is no random sample of the network: users near the first one are more likely to be drawn, because early users
    have had more chances to bring in those whom they follow, and who is followed by nobody is never found. So the
    sample is denser around the first user than the network is (Marés 2013, section 6.1).

    `failed` has the users that did not answer, with the reason: "unreachable", or "busy" to the last attempt. `stopped`
    says why the crawl ended: it had the wanted number of "users", the "frontier" was empty, or the limit of "requests"
    was reached. `requests` are those for the users in `records` and `failed`.
    """

    records: tuple[UserRecord, ...]
    failed: Mapping[str, FailureReason]
    stopped: Stopped
    requests: int

    def __repr__(self) -> str:
        return f"Crawl({len(self.records)} records, {len(self.failed)} failed, stopped={self.stopped!r})"


@dataclass(frozen=True)
class Limits:
    """How gently a source is asked.

    At most `requests` in any `period` of seconds, at least `delay` seconds from one to the next, and `total` in all. A
    request to a busy source is repeated up to `retries` times, after `backoff` seconds and twice as long each time, or
    as long as the source says, but never longer than `longest_wait`.
    """

    requests: int | None = 15
    period: float = 60.0
    delay: float = 1.0
    total: int | None = None
    retries: int = 4
    backoff: float = 5.0
    longest_wait: float = 900.0

    def __post_init__(self) -> None:
        for name in ("requests", "total"):
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name), 1)
        _check_whole("retries", self.retries, 0)
        for name in ("period", "delay", "backoff", "longest_wait"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be a number of seconds, 0 or more, got {brief(value)}")


LOCAL = Limits(requests=None, delay=0.0)
"""For sources on this machine, which need not be spared."""


class RateLimiter:
    """Waits before a request until the limits allow it.

    >>> now = [0.0]
    >>> limiter = RateLimiter(Limits(2, period=10, delay=1), lambda: now[0], lambda s: now.append(now.pop() + s))
    >>> times = []
    >>> for _ in range(4):
    ...     limiter.wait()
    ...     times.append(now[0])
    >>> times
    [0.0, 1.0, 10.0, 11.0]
    """

    def __init__(self, limits: Limits, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._limits, self._clock, self._sleep = limits, clock, sleep
        self._times: deque[float] = deque(maxlen=limits.requests or 1)

    def wait(self) -> None:
        """Return when the next request may be made; it counts as made then."""
        earliest = self._times[-1] + self._limits.delay if self._times else -math.inf
        if self._limits.requests is not None and len(self._times) == self._limits.requests:
            earliest = max(earliest, self._times[0] + self._limits.period)
        while (remaining := earliest - self._clock()) > 0:  # a sleep may end early
            self._sleep(remaining)
        self._times.append(self._clock())

    def assume_spent(self) -> None:
        """Count as if all requests of a period had just been made: those of a process that was killed are unknown."""
        if self._limits.requests is not None:
            self._times.extend([self._clock()] * self._limits.requests)


def crawl(
    source: SocialSource,
    start: str,
    *,
    users: int,
    posts: int,
    rng: np.random.Generator,
    frontier: FrontierKind = "set",
    limits: Limits | None = None,
    state: str | Path | None = None,
    progress: Progress = silent,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Crawl:
    """Draw users from the frontier, those whom the users so far follow, until there are so many (Algorithm 12).

    Who was drawn never returns, also if the user failed; failed users do not count. With `frontier="set"` all of the
    frontier are equally likely, with "list" in proportion to the number of crawled users who follow them. Of each user
    the newest `posts` are kept. Without `limits` these are the polite ones of `Limits()`, or none for a local source.

    With `state`, a file of JSON lines that only its owner can read, each finished user is on the disk before the next
    one is drawn. The same call with the same file goes on where the last one was killed or cancelled and has the same
    result; the start of the random numbers comes from the file too. It may ask for more users than before. The file
    holds what users wrote: delete it when the crawl is done.
    """
    _check_whole("users", users, 1)
    _check_whole("posts", posts, 0)
    if not isinstance(start, str) or not start:
        raise ParameterError("start must be the id of a user, a text that is not empty")
    if frontier not in ("set", "list"):
        raise ParameterError(f"frontier must be 'set' or 'list', got {brief(frontier)}")
    if limits is None:
        limits = LOCAL if getattr(source, "is_local", False) else Limits()
    limiter = RateLimiter(limits, clock, sleep)
    with _State(state, {"start": start, "posts": posts, "frontier": frontier}, rng) as kept:
        if kept.visits:
            limiter.assume_spent()
        asking = _Asking(source, posts, limits, limiter, sleep)
        return _crawl(asking, _Frontier(start, rng, frontier), users, kept, progress)


def _crawl(asking: _Asking, frontier: _Frontier, users: int, kept: _State, progress: Progress) -> Crawl:
    records: list[UserRecord] = []
    failed: dict[str, FailureReason] = {}
    stopped: Stopped = "frontier"
    while frontier.waiting:
        user_id = frontier.draw()
        visit = kept.replayed(user_id)
        if visit is None:
            asking.report = lambda: progress(len(records) / users, f"crawl: {len(records):,} of {users:,} users")
            try:
                visit = asking.visit(user_id)
            except _TotalReached:
                stopped = "requests"
                break
            kept.keep(visit)
        asking.requests = visit.requests
        if isinstance(visit.found, UserRecord):
            records.append(visit.found)
            frontier.add(visit.found.following)
        else:
            failed[user_id] = visit.found
        if not records:
            raise DataError(f"the first user cannot be asked ({failed[user_id]}); start with another one")
        if len(records) == users:
            stopped = "users"
            break
    progress(1.0, "crawl: finished")
    return Crawl(tuple(records), failed, stopped, asking.requests)


class _Frontier:
    """Those who are followed by a crawled user and were not drawn yet, sorted, so that draws depend on nothing else."""

    def __init__(self, start: str, rng: np.random.Generator, kind: FrontierKind) -> None:
        self.waiting = [start]
        self._drawn: set[str] = set()
        self._known = {start}
        self._rng, self._kind = rng, kind

    def draw(self) -> str:
        """One of those who wait, at random; all of his places in the list go with him."""
        user_id = self.waiting[int(self._rng.integers(len(self.waiting)))]
        first, end = bisect.bisect_left(self.waiting, user_id), bisect.bisect_right(self.waiting, user_id)
        del self.waiting[first:end]
        self._drawn.add(user_id)
        return user_id

    def add(self, following: Iterable[str]) -> None:
        for user_id in following:
            if user_id not in (self._known if self._kind == "set" else self._drawn):
                bisect.insort(self.waiting, user_id)
        self._known.update(following)


# --- asking the source -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Visit:
    """What came of a user who was drawn, and the number of requests of the crawl up to him."""

    user_id: str
    found: UserRecord | FailureReason
    requests: int


class _TotalReached(Exception):  # noqa: N818 - ends the crawl, which is no error
    pass


class _Asking:
    """The requests for one user, within the limits."""

    def __init__(
        self,
        source: SocialSource,
        posts: int,
        limits: Limits,
        limiter: RateLimiter,
        sleep: Callable[[float], object],
    ) -> None:
        self._source, self._posts, self._limits, self._limiter, self._sleep = source, posts, limits, limiter, sleep
        self.requests = 0
        self.report: Callable[[], None] = lambda: None

    def visit(self, user_id: str) -> _Visit:
        try:
            user = self._ask(lambda: self._source.user(user_id))
            following = self._ask(lambda: self._source.following(user_id))
            posts = self._ask(lambda: self._source.posts(user_id, self._posts)) if self._posts else ()
        except UnreachableUserError:
            return _Visit(user_id, "unreachable", self.requests)
        except TryAgainError:
            return _Visit(user_id, "busy", self.requests)
        return _Visit(user_id, _record(user_id, user, following, posts[: self._posts]), self.requests)

    def _ask(self, request: Callable[[], Answer]) -> Answer:
        for attempt in range(self._limits.retries + 1):
            self.report()
            if self.requests == self._limits.total:
                raise _TotalReached
            self._limiter.wait()
            self.requests += 1
            try:
                return request()
            except TryAgainError as busy:
                if attempt == self._limits.retries:
                    raise
                wait = self._limits.backoff * 2.0**attempt if busy.after is None else busy.after
                self._sleep(min(max(wait, 0.0), self._limits.longest_wait))
        raise AssertionError  # the last attempt returns or raises


def _record(user_id: str, user: User, following: Sequence[str], posts: Sequence[Post]) -> UserRecord:
    """What a source answered, checked: it may be anybody's."""
    is_right = (
        isinstance(user, User)
        and (user.location is None or isinstance(user.location, str))
        and not isinstance(following, str)
        and all(isinstance(followed, str) and followed for followed in following)
        and all(isinstance(post, Post) for post in posts)
    )
    if not is_right:
        raise DataError("the source gave something else than a user, ids that are texts, and posts; correct the source")
    return UserRecord(user_id, user.location, tuple(dict.fromkeys(following)), tuple(posts))


# --- the state file --------------------------------------------------------------------------------------------------

_BEGINNING = b'{"crawl": 1, '


class _State:
    """The visits so far in a file, one line each after a line with the question; without a path nothing is kept."""

    def __init__(self, path: str | Path | None, question: dict[str, Any], rng: np.random.Generator) -> None:
        self.path = None if path is None else Path(path)
        self.visits: deque[_Visit] = deque()
        self._file: int | None = None
        self._line = 1
        if self.path is None:
            return
        with errors_of_file(self.path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)  # Windows changes line ends
            self._file = os.open(self.path, flags, 0o600)
            try:
                with suppress(OSError):  # of somebody else, who has to do it
                    os.chmod(self.path, 0o600)
                self._go_on_or_begin(question, rng)
            except BaseException:
                os.close(self._file)
                raise

    def __enter__(self) -> _State:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)

    def _go_on_or_begin(self, question: dict[str, Any], rng: np.random.Generator) -> None:
        assert self._file is not None
        assert self.path is not None
        with open(self._file, "rb", closefd=False) as file:
            content = file.read()
        if not (content.startswith(_BEGINNING) or _BEGINNING.startswith(content)):
            raise FileError(self.path, "is not the state of a crawl; choose another name")
        *lines, torn = content.split(b"\n")
        if torn:  # the process was killed while it wrote this line
            os.ftruncate(self._file, len(content) - len(torn))
        if not lines:
            header = {"crawl": 1, **question, "rng": rng.bit_generator.state}
            self._append(header)
            return
        header = self._parsed(lines[0], 1)
        for name, value in question.items():
            if header.get(name) != value:
                raise FileError(self.path, f"was begun with another '{name}'; use the same one or another file", line=1)
        try:
            rng.bit_generator.state = header["rng"]
        except (KeyError, TypeError, ValueError):
            raise FileError(self.path, "was begun with another kind of random generator", line=1) from None
        self.visits.extend(self._visit(line, number) for number, line in enumerate(lines[1:], 2))

    def replayed(self, user_id: str) -> _Visit | None:
        """What came of this user before, if the file knows it."""
        if not self.visits:
            return None
        visit = self.visits.popleft()
        self._line += 1
        if visit.user_id != user_id:
            raise FileError(self.path, "does not fit the lines before it; begin again in another file", line=self._line)
        return visit

    def keep(self, visit: _Visit) -> None:
        """Keep a visit; it is on the disk when this returns."""
        if self._file is not None:
            found = asdict(visit.found) if isinstance(visit.found, UserRecord) else visit.found
            self._append({"id": visit.user_id, "found": found, "requests": visit.requests})

    def _append(self, content: dict[str, Any]) -> None:
        assert self._file is not None
        left = json.dumps(content, default=_plain).encode("ascii") + b"\n"
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as problem:
            raise FileError(self.path, f"cannot be written ({problem.strerror})") from None

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            content = parsed(json.loads, line.decode("ascii"))
        except (ValueError, ParameterError):
            content = None
        if not isinstance(content, dict):
            raise self._damaged(number)
        return content

    def _visit(self, line: bytes, number: int) -> _Visit:
        content = self._parsed(line, number)
        try:
            return _Visit(content["id"], _found(content["found"]), int(content["requests"]))
        except (KeyError, TypeError, ValueError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> FileError:
        return FileError(self.path, "the line is damaged; begin again in another file", line=number)


def _found(plain: Any) -> UserRecord | FailureReason:
    if plain == "unreachable" or plain == "busy":
        return "unreachable" if plain == "unreachable" else "busy"
    posts = tuple(Post(post["text"], tuple(post["hashtags"]), tuple(post["urls"])) for post in plain["posts"])
    return UserRecord(plain["id"], plain["location"], tuple(plain["following"]), posts)


def _plain(value: object) -> object:
    """Numbers and arrays of the state of a random generator, as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError
