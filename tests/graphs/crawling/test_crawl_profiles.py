"""Profiles and the graph of a crawl: which topics count, in which order, and who is linked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import Cancelled, DataError
from microveil.graphs.crawling import (
    CrawledGraph,
    Post,
    Profile,
    SyntheticSource,
    UserRecord,
    WordTopics,
    crawl,
    crawled_graph,
    extract_profiles,
    ranked_topics,
)


class Letters:
    """Every capital letter of a text is a topic."""

    def topics(self, text: str, /) -> set[str]:
        return {letter for letter in text if letter.isupper()}


class Pages:
    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def text(self, url: str, /) -> str | None:
        return self.texts.get(url)


def posts(*texts: str) -> list[Post]:
    """Posts of a text and, after a bar, what they link to."""
    return [Post(text, urls=tuple(urls.split())) for text, _, urls in (given.partition("|") for given in texts)]


def record(user_id: str, following: str = "", *texts: str, location: str | None = None) -> UserRecord:
    return UserRecord(user_id, location, tuple(following), tuple(posts(*texts)))


@pytest.mark.spec("06:SG-02")
def test_the_three_most_frequent_topics_are_ranked_by_the_number_of_their_posts() -> None:
    assert ranked_topics(posts("A", "B", "BC", "CB", "D"), Letters()) == ("B", "C", "A")


@pytest.mark.spec("06:SG-02")
def test_topics_of_a_text_and_of_its_pages_count_once_for_each_post() -> None:
    pages = Pages(x="AB", y="A")
    given = posts("A|x y", "C", "C|none")
    assert ranked_topics(given, Letters(), pages) == ("C", "A", "B")  # A once, though in three texts
    assert ranked_topics(given, Letters(), pages, multiset=True) == ("A", "C", "B")
    assert ranked_topics(given, Letters()) == ("C", "A", None)


@pytest.mark.spec("06:SG-02")
def test_a_page_that_a_post_links_to_twice_is_one_text() -> None:
    assert ranked_topics(posts("|x x", "B", "B|x"), Letters(), Pages(x="A"), multiset=True) == ("A", "B", None)
    assert ranked_topics(posts("|x x", "B", "B"), Letters(), Pages(x="A"), multiset=True) == ("B", "A", None)


@pytest.mark.spec("06:SG-02")
def test_ties_go_to_the_earlier_first_appearance_and_then_by_the_alphabet() -> None:
    assert ranked_topics(posts("Z", "B", "A"), Letters()) == ("Z", "B", "A")
    assert ranked_topics(posts("ZBAC"), Letters()) == ("A", "B", "C")
    assert ranked_topics(posts("D|x", "CB"), Letters(), Pages(x="A")) == ("A", "D", "B")


@pytest.mark.spec("06:SG-02")
def test_hashtags_are_not_used() -> None:
    post = Post.of("nothing to say #Snow #Election")
    assert post.hashtags == ("Snow", "Election")
    assert ranked_topics([post], WordTopics()) == (None, None, None)


@pytest.mark.spec("06:SG-02")
def test_users_without_topics_are_kept_with_none_or_dropped() -> None:
    records = [record("a", "", "x", location=" Girona "), record("b", "", "B"), record("c")]
    kept = extract_profiles(records, Letters())
    assert [(profile.id, profile.topics) for profile in kept] == [
        ("a", (None, None, None)),
        ("b", ("B", None, None)),
        ("c", (None, None, None)),
    ]
    assert [profile.location for profile in kept] == ["Girona", None, None]
    assert [profile.id for profile in extract_profiles(records, Letters(), drop_empty=True)] == ["b"]


@pytest.mark.spec("06:SG-02")
def test_a_location_is_what_the_user_wrote_and_none_if_that_is_empty() -> None:
    records = [record("a", location=place) for place in (" Girona, Spain ", "the moon", " ", None)]
    assert [profile.location for profile in extract_profiles(records, Letters())] == [
        "Girona, Spain",
        "the moon",
        None,
        None,
    ]


def test_progress_is_told_and_can_cancel() -> None:
    told: list[float] = []
    extract_profiles([record("a"), record("b")], Letters(), progress=lambda fraction, _: told.append(fraction))
    assert told == [0.5, 1.0]

    def cancel(fraction: float, label: str, /) -> None:
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        extract_profiles([record("a")], Letters(), progress=cancel)
    assert extract_profiles([], Letters()) == []


def graph_of(*records: UserRecord, drop_empty: bool = False) -> CrawledGraph:
    return crawled_graph(records, extract_profiles(records, Letters(), drop_empty=drop_empty))


def edges(graph: CrawledGraph) -> list[tuple[str, str]]:
    return [(graph.ids[u], graph.ids[v]) for u, v in zip(graph.first.tolist(), graph.second.tolist(), strict=True)]


@pytest.mark.spec("06:SG-04")
def test_two_users_are_linked_once_if_either_follows_the_other() -> None:
    graph = graph_of(record("a", "bcxa"), record("c", "a"), record("b", "y"), record("d", "b"))
    assert graph.ids == ("a", "c", "b", "d")
    assert edges(graph) == [("a", "c"), ("a", "b"), ("b", "d")]
    assert graph.first.dtype == graph.second.dtype == np.int64


@pytest.mark.spec("06:SG-04")
def test_dropped_users_and_their_links_are_not_in_the_graph() -> None:
    records = (record("a", "b", "A"), record("b", "c"), record("c", "a", "C"))
    graph = graph_of(*records, drop_empty=True)
    assert graph.ids == ("a", "c")
    assert edges(graph) == [("a", "c")]
    assert graph.topics == (("A", None, None), ("C", None, None))


def test_a_graph_carries_locations_and_shows_its_size_alone() -> None:
    records = [record("a", "b", location="Girona"), record("b")]
    graph = graph_of(*records)
    assert graph.locations == ("Girona", None)
    assert repr(graph) == "CrawledGraph(2 nodes, 1 edges)"
    assert "Girona" not in repr(extract_profiles(records, Letters()))


def test_a_graph_without_users_or_links_is_empty() -> None:
    assert edges(graph_of()) == []
    assert edges(graph_of(record("a", "a"))) == []


def test_profiles_that_do_not_fit_the_records_are_refused() -> None:
    stranger, own = Profile("x", None, (None, None, None)), Profile("a", None, (None, None, None))
    with pytest.raises(DataError, match="a profile is of a user who was not crawled"):
        crawled_graph([record("a")], [stranger])
    with pytest.raises(DataError, match="a user has two profiles"):
        crawled_graph([record("a")], [own, own])


def components(graph: CrawledGraph) -> int:
    """A plain union of the ends of all edges."""
    group = list(range(len(graph.ids)))
    for u, v in zip(graph.first.tolist(), graph.second.tolist(), strict=True):
        old, new = group[u], group[v]
        group = [new if own == old else own for own in group]
    return len(set(group))


@pytest.mark.spec("06:SG-04")
@given(st.integers(1, 80), st.integers(1, 40), st.integers(0, 10_000), st.sampled_from(["set", "list"]))
def test_without_failed_users_the_graph_of_a_crawl_is_connected_and_simple(
    size: int, users: int, seed: int, frontier: str
) -> None:
    source = SyntheticSource(size, seed=seed, follows=2.0)
    rng = np.random.default_rng(seed)
    found = crawl(source, source.user_ids()[0], users=users, posts=0, rng=rng, frontier=frontier)  # type: ignore[arg-type]
    graph = crawled_graph(found.records, extract_profiles(found.records, Letters()))
    assert not found.failed
    assert components(graph) == 1
    pairs = edges(graph)
    assert len(set(map(frozenset, pairs))) == len(pairs)
    assert (graph.first < graph.second).all()
    following = {r.id: set(r.following) for r in found.records}
    linked = {frozenset(pair) for pair in pairs}
    for u in graph.ids:
        for v in graph.ids:
            assert (frozenset((u, v)) in linked) == (u != v and (v in following[u] or u in following[v]))


@pytest.mark.spec("06:SG-02")
def test_profiles_find_what_invented_users_are_interested_in_and_pages_help() -> None:
    source = SyntheticSource(400, seed=7)
    found = crawl(source, "u000", users=80, posts=12, rng=np.random.default_rng(1))

    def share_of_first(profiles: list[Profile]) -> float:
        return float(np.mean([profile.topics[0] == source.interests(profile.id)[0] for profile in profiles]))

    with_pages = extract_profiles(found.records, WordTopics(), source)
    assert share_of_first(with_pages) > 0.6
    short = [
        UserRecord(r.id, r.location, r.following, tuple(Post("Read this!", urls=p.urls) for p in r.posts))
        for r in found.records
    ]
    assert share_of_first(extract_profiles(short, WordTopics())) == 0
    assert share_of_first(extract_profiles(short, WordTopics(), source)) > 0.4
