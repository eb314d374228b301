"""What a crawl asks for: users, whom they follow, posts, pages and topics; answered from files or invented.

The services that Marés (2013), section 6.1, used are interfaces here; that for places is in
`microveil.microdata.locations`. Nothing in this package opens a connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from microveil.errors import DataError, FileError, MicroveilError, ParameterError, errors_of_file, parsed
from microveil.graphs.crawling.topic_words import TOPIC_WORDS
from microveil.randomness import PublicStreams, check_seed
from microveil.typing import IntArray

_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_HASHTAG = re.compile(r"#(\w+)")


@dataclass(frozen=True)
class User:
    """What a user says about himself: a location in his own words, or none."""

    id: str
    location: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Post:
    """A short text with the hashtags and the links in it."""

    text: str = field(repr=False)
    hashtags: tuple[str, ...] = field(default=(), repr=False)
    urls: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, text: str) -> Post:
        """A post with the hashtags and links that stand in its text.

        >>> Post.of("Look, #snow! https://a.example/1.").urls
        ('https://a.example/1',)
        """
        urls = tuple(url.rstrip(".,;:!?)'") for url in _URL.findall(text))
        return cls(text, tuple(_HASHTAG.findall(_URL.sub(" ", text))), urls)


class SocialSource(Protocol):
    """A social network as a crawler sees it.

    Each method may raise `UnreachableUserError`, and `TryAgainError` if the source is busy. A source that answers from
    this machine may say so by an attribute `is_local = True`; then nobody has to be spared, and a crawl does not wait.
    """

    def user(self, user_id: str, /) -> User:
        """What a user says about himself."""

    def following(self, user_id: str, /) -> Sequence[str]:
        """The ids of those whom a user follows."""

    def posts(self, user_id: str, number: int, /) -> Sequence[Post]:
        """The newest posts of a user, so many at most."""


class TopicProvider(Protocol):
    """Finds topics in a text."""

    def topics(self, text: str, /) -> set[str]:
        """The topics of a text; none if nothing is found."""


class PageProvider(Protocol):
    """Knows the text of linked pages."""

    def text(self, url: str, /) -> str | None:
        """The text of a page, None if it cannot be had."""


class UnreachableUserError(DataError):
    """A user does not exist, or shows nothing to others; a crawl counts him as failed and goes on."""


class TryAgainError(MicroveilError):
    """A source is busy and may answer later: after so many seconds, if it says so."""

    def __init__(self, after: float | None = None) -> None:
        self.after = after
        super().__init__("the source is busy; try again later")


# --- files -----------------------------------------------------------------------------------------------------------

_KINDS = {"user": "users.jsonl", "follows": "follows.jsonl", "post": "posts.jsonl", "page": "pages.jsonl"}
_Place = tuple[Path, int, int]  # a file, where a line begins, and its number


class FileSource:
    """A social source and page provider over JSON lines: one file, or a folder with one for each kind of line.

    The lines are objects such as

        {"kind": "user", "id": "ann", "location": "Barcelona", "private": false}
        {"kind": "follows", "user": "ann", "follows": ["bob", "eve"]}
        {"kind": "post", "user": "ann", "text": "Snow! https://a.example/1", "urls": [...], "hashtags": [...]}
        {"kind": "page", "url": "https://a.example/1", "text": "..."}

    In a folder they lie in users.jsonl, follows.jsonl, posts.jsonl and pages.jsonl, and `kind` may be left out. Posts
    stand newest first; without `urls` and `hashtags` these are taken from the text. Users may follow others of whom
    there is no line: these cannot be reached, as those who are private.

    Every line is checked at first use, and then only the places of lines are kept, so that files may be larger than
    memory.
    """

    is_local = True

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise FileError(self.path, "there is no such file or folder")
        if self.path.is_dir() and not (self.path / _KINDS["user"]).is_file():
            raise FileError(self.path, f"the folder has no file '{_KINDS['user']}'")
        self._index: dict[str, dict[str, list[_Place]]] | None = None

    def user(self, user_id: str, /) -> User:
        places = self._places("user", user_id)
        content = self._read("user", places[0]) if places else None
        if content is None or content.get("private", False):
            raise UnreachableUserError("the user is not in the file, or private")
        return User(user_id, content.get("location"))

    def following(self, user_id: str, /) -> list[str]:
        self.user(user_id)
        lines = (self._read("follows", place) for place in self._places("follows", user_id))
        return [_id(followed) for content in lines for followed in content["follows"]]

    def posts(self, user_id: str, number: int, /) -> list[Post]:
        self.user(user_id)
        return [_post(self._read("post", place)) for place in self._places("post", user_id)[:number]]

    def text(self, url: str, /) -> str | None:
        places = self._places("page", url)
        return str(self._read("page", places[0])["text"]) if places else None

    def user_ids(self) -> list[str]:
        """All users of the file, also private ones, in the order of their lines."""
        return list(self._indexed()["user"])

    def _places(self, kind: str, key: str) -> list[_Place]:
        return self._indexed()[kind].get(key, [])

    def _read(self, kind: str, place: _Place) -> dict[str, Any]:
        path, at, number = place
        with errors_of_file(path), open(path, "rb") as lines:
            lines.seek(at)
            return _checked(path, number, lines.readline(), kind if self.path.is_dir() else None)[1]

    def _indexed(self) -> dict[str, dict[str, list[_Place]]]:
        if self._index is None:
            index: dict[str, dict[str, list[_Place]]] = {kind: {} for kind in _KINDS}
            for place, kind, content in self._lines():
                key = content["url"] if kind == "page" else _id(content["id" if kind == "user" else "user"])
                if kind in ("user", "page") and key in index[kind]:
                    raise FileError(place[0], f"there is an earlier line of the same {kind}", line=place[2])
                index[kind].setdefault(key, []).append(place)
            for kind in ("follows", "post"):
                for key, places in index[kind].items():
                    if key not in index["user"]:
                        raise FileError(places[0][0], "there is no line of the user it belongs to", line=places[0][2])
            self._index = index
        return self._index

    def _lines(self) -> Iterator[tuple[_Place, str, dict[str, Any]]]:
        named = {kind: self.path / name for kind, name in _KINDS.items()} if self.path.is_dir() else {None: self.path}
        for expected, path in named.items():
            if expected is not None and not path.exists():
                continue
            with errors_of_file(path), open(path, "rb") as lines:
                at = 0
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        kind, content = _checked(path, number, line, expected)
                        yield (path, at, number), kind, content
                    at += len(line)


def _checked(path: Path, number: int, line: bytes, expected: str | None) -> tuple[str, dict[str, Any]]:
    """The kind and the content of a line, or an error that says what is wrong with it and repeats nothing of it."""
    try:
        content = parsed(json.loads, line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise FileError(path, "the line is not UTF-8", line=number) from None
    except json.JSONDecodeError:
        raise FileError(path, "the line is not JSON", line=number) from None
    except ParameterError as problem:
        raise FileError(path, f"the line {problem}", line=number) from None
    if not isinstance(content, dict):
        raise FileError(path, "the line is not a JSON object", line=number)
    kind = content.get("kind", expected)
    if kind not in list(_KINDS) or (expected is not None and kind != expected):
        wanted = f"'{expected}'" if expected else ", ".join(f"'{known}'" for known in _KINDS)
        raise FileError(path, f"'kind' must be {wanted}", line=number)
    for name, (fits, meaning, needed) in _FIELDS[kind].items():
        if (name in content or needed) and not fits(content.get(name)):
            raise FileError(path, f"'{name}' of a {kind} must be {meaning}", line=number)
    return kind, content


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda values: isinstance(values, list) and all(map(fits, values))


_AN_ID = (_is_id, "a text that is not empty or a whole number", True)
_A_TEXT = (_is_text, "a text", True)
_TEXTS = (_are(_is_text), "a list of texts", False)
_FIELDS: dict[str, dict[str, tuple[Callable[[object], bool], str, bool]]] = {
    "user": {
        "id": _AN_ID,
        "location": (lambda value: value is None or _is_text(value), "a text or null", False),
        "private": (lambda value: isinstance(value, bool), "true or false", False),
    },
    "follows": {"user": _AN_ID, "follows": (_are(_is_id), "a list of ids", True)},
    "post": {"user": _AN_ID, "text": _A_TEXT, "urls": _TEXTS, "hashtags": _TEXTS},
    "page": {"url": _A_TEXT, "text": _A_TEXT},
}


def _id(value: str | int) -> str:
    return str(value)


def _post(content: Mapping[str, Any]) -> Post:
    found = Post.of(content["text"])
    return Post(found.text, tuple(content.get("hashtags", found.hashtags)), tuple(content.get("urls", found.urls)))


# --- an invented network ---------------------------------------------------------------------------------------------

PLACES = (
    "London", "New York City", "Paris", "Madrid", "Berlin", "Barcelona", "Rome", "Toronto", "Sydney", "Tokyo", "Lagos",
    "Manchester", "Chicago", "Lyon", "Sevilla", "Hamburg", "Milano", "Vancouver", "Melbourne", "Mumbai", "Nairobi",
    "Washington", "Glasgow", "Vienna", "Lisbon", "Dublin", "Boston", "Seattle", "Girona", "Oslo",
)  # fmt: skip
"""Where invented users live, the most frequent first."""

_INTERESTS = tuple(TOPIC_WORDS)
_PREFERENCE = np.array([0.5, 0.8])  # half of the posts are on the first topic, three tenths on the second
_SENTENCES = (
    "Everybody here talks about the {0} and the {1}.",
    "What a {0}! I have never seen such a {1} before.",
    "Some thoughts on the {0}, and why the {1} matters more than you think.",
    "Once more the {0}; I still wonder about the {1}.",
)
_SMALL_TALK = ("Good morning everybody!", "I cannot believe it is that late already.", "So true.", "Hello again, all!")
_HASHTAGS = ("wow", "justsaying", "thinkaboutit")
_HOST = "https://pages.example"
_PAGES = 1000  # pages on each topic
_CANDIDATES = 12  # among so many users each one is chosen who is followed


class SyntheticSource:
    """An invented network of any size, with the pages its posts link to: a social source and a page provider.

    Places and topics of interest follow Zipf's law. Whom a user follows is chosen among a few random users with
    chances that grow by the factor e^homophily with each likeness (same place, same first topic, a common topic), and
    with how well known a user is. All depends on the seed alone, whatever is asked first.

    >>> source = SyntheticSource(100, seed=1)
    >>> len(source.user_ids()), source.following("u00") == SyntheticSource(100, seed=1).following("u00")
    (100, True)
    """

    is_local = True

    def __init__(
        self,
        users: int,
        *,
        seed: int,
        follows: float = 8.0,
        homophily: float = 1.5,
        zipf: float = 1.0,
        linking: float = 0.5,
        small_talk: float = 0.2,
        private: float = 0.0,
    ) -> None:
        if not 1 <= users <= 10_000_000:
            raise ParameterError("users must be a whole number from 1 to 10,000,000")
        for name, value, most in (("follows", follows, 1000.0), ("homophily", homophily, 20.0), ("zipf", zipf, 20.0)):
            if not 0 <= value <= most:
                raise ParameterError(f"{name} must be a number from 0 to {most:g}")
        for name, value in (("linking", linking), ("small_talk", small_talk), ("private", private)):
            if not 0 <= value <= 1:
                raise ParameterError(f"{name} must be a number from 0 to 1")
        self.users, self.follows, self.homophily = users, follows, homophily
        self.linking, self.small_talk, self.private = linking, small_talk, private
        self._streams = PublicStreams(check_seed(seed))
        self._digits = len(str(users - 1))
        rng = self._streams.generator("traits")
        self._place = rng.choice(len(PLACES), size=users, p=_zipf(len(PLACES), zipf))
        self._interests = _distinct_draws(users, _zipf(len(_INTERESTS), zipf), rng)
        self._known = np.log(rng.pareto(2.0, size=users) + 0.1)
        self._is_private = rng.random(users) < private

    def user_ids(self) -> list[str]:
        """All users, also private ones."""
        return [self._name(number) for number in range(self.users)]

    def interests(self, user_id: str) -> tuple[str, str, str]:
        """The topics that a user posts on, by preference: the truth that profiles are to find."""
        first, second, third = (_INTERESTS[topic] for topic in self._interests[self._number(user_id)])
        return first, second, third

    def user(self, user_id: str, /) -> User:
        return User(user_id, PLACES[self._place[self._reachable(user_id)]])

    def following(self, user_id: str, /) -> list[str]:
        number = self._reachable(user_id)
        rng = self._streams.generator("follows", user_id)
        candidates = rng.integers(0, self.users, size=(1 + rng.poisson(self.follows), _CANDIDATES))
        attraction = self._known[candidates] + self.homophily * self._likeness(number, candidates)
        chosen = np.argmax(attraction + rng.gumbel(size=candidates.shape), axis=1)  # with chances ~ exp(attraction)
        followed = np.unique(np.take_along_axis(candidates, chosen[:, None], axis=1))
        return [self._name(other) for other in followed.tolist() if other != number]

    def posts(self, user_id: str, number: int, /) -> list[Post]:
        interests = self._interests[self._reachable(user_id)]
        rng = self._streams.generator("posts", user_id)
        return [self._post(interests, rng) for _ in range(number)]

    def text(self, url: str, /) -> str | None:
        host, _, rest = url.rpartition("/topic-")
        topic, _, page = rest.partition("-")
        is_ours = host == _HOST and topic.isdecimal() and page.isdecimal()
        if not is_ours or int(topic) >= len(_INTERESTS) or int(page) >= _PAGES:
            return None
        rng = self._streams.generator("page", url)
        return " ".join(_sentence(int(topic), rng) for _ in range(6))

    def _likeness(self, number: int, others: IntArray) -> IntArray:
        own = self._interests[number]
        theirs = self._interests[others]
        same_place = (self._place[others] == self._place[number]).astype(np.int64)
        common = (theirs[..., :, None] == own).any(axis=(-1, -2))
        return np.asarray(same_place + (theirs[..., 0] == own[0]) + common)

    def _post(self, interests: IntArray, rng: np.random.Generator) -> Post:
        if rng.random() < self.small_talk:
            return Post(_SMALL_TALK[rng.integers(len(_SMALL_TALK))])
        topic = int(interests[np.searchsorted(_PREFERENCE, rng.random(), side="right")])
        text = _sentence(topic, rng)
        if rng.random() < self.linking:
            text += f" {_HOST}/topic-{topic}-{rng.integers(_PAGES)}"
        return Post.of(f"{text} #{_HASHTAGS[rng.integers(len(_HASHTAGS))]}")

    def _name(self, number: int) -> str:
        return f"u{number:0{self._digits}}"

    def _number(self, user_id: str) -> int:
        digits = user_id.removeprefix("u")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) == self._digits else -1
        if not 0 <= number < self.users or user_id != self._name(number):
            raise UnreachableUserError("there is no such user")
        return number

    def _reachable(self, user_id: str) -> int:
        number = self._number(user_id)
        if self._is_private[number]:
            raise UnreachableUserError("the user is private")
        return number


def _zipf(count: int, exponent: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def _distinct_draws(
    rows: int, shares: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> IntArray:
    """Three different values for each row, drawn one after the other with these shares."""
    drawn = np.empty((rows, 3), dtype=np.int64)
    chunk = 100_000
    for first in range(0, rows, chunk):
        part = slice(first, min(rows, first + chunk))
        keys = np.log(shares) + rng.gumbel(size=(part.stop - part.start, len(shares)))
        drawn[part] = np.argsort(-keys, axis=1, kind="stable")[:, :3]
    return drawn


def _sentence(topic: int, rng: np.random.Generator) -> str:
    words = TOPIC_WORDS[_INTERESTS[topic]]
    first, second = rng.integers(len(words)), rng.integers(len(words) - 1)
    other = second + (second >= first)
    return _SENTENCES[rng.integers(len(_SENTENCES))].format(words[first], words[other])
