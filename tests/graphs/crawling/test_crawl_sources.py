"""Sources of a crawl: files that are checked line by line, and an invented network."""

from __future__ import annotations

import json
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import FileError, ParameterError
from microveil.graphs.crawling import FileSource, Post, SyntheticSource, UnreachableUserError, User, WordTopics

LINES: list[dict[str, Any]] = [
    {"kind": "user", "id": "ann", "location": "Barcelona"},
    {"kind": "post", "user": "ann", "text": "Snow! #cold https://a.example/1"},
    {"kind": "user", "id": 7},
    {"kind": "follows", "user": "ann", "follows": [7, "eve"]},
    {"kind": "user", "id": "bob", "location": None, "private": True},
    {"kind": "post", "user": "ann", "text": "Second", "urls": ["https://a.example/2"], "hashtags": ["x"]},
    {"kind": "follows", "user": "ann", "follows": ["bob"]},
    {"kind": "page", "url": "https://a.example/1", "text": "A page"},
]
FILES = {"user": "users.jsonl", "follows": "follows.jsonl", "post": "posts.jsonl", "page": "pages.jsonl"}


def one_file(folder: Path, lines: list[dict[str, Any]]) -> Path:
    path = folder / "network.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    return path


def a_folder(folder: Path, lines: list[dict[str, Any]]) -> Path:
    for kind, name in FILES.items():
        own = [{key: value for key, value in line.items() if key != "kind"} for line in lines if line["kind"] == kind]
        if own:
            (folder / name).write_text("\n".join(map(json.dumps, own)), encoding="utf-8")
    return folder


@pytest.mark.parametrize("write", [one_file, a_folder])
def test_a_file_and_a_folder_give_the_same_answers(tmp_path: Path, write: Any) -> None:
    source = FileSource(write(tmp_path, LINES))
    assert source.user_ids() == ["ann", "7", "bob"]
    assert source.user("ann") == User("ann", "Barcelona")
    assert source.user("7") == User("7", None)
    assert source.following("ann") == ["7", "eve", "bob"]
    assert source.following("7") == []
    first = Post("Snow! #cold https://a.example/1", ("cold",), ("https://a.example/1",))
    assert source.posts("ann", 9) == [first, Post("Second", ("x",), ("https://a.example/2",))]
    assert source.posts("ann", 1) == [first]
    assert source.posts("ann", 0) == []
    assert source.text("https://a.example/1") == "A page"
    assert source.text("https://a.example/none") is None


@pytest.mark.parametrize("user_id", ["bob", "eve"])
def test_private_and_unknown_users_cannot_be_reached(tmp_path: Path, user_id: str) -> None:
    source = FileSource(one_file(tmp_path, LINES))
    for ask in (source.user, source.following, lambda user: source.posts(user, 3)):
        with pytest.raises(UnreachableUserError) as told:
            ask(user_id)
        assert user_id not in str(told.value)


def test_a_file_with_a_byte_order_mark_and_windows_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "network.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(line).encode() for line in LINES))
    assert FileSource(path).following("ann") == ["7", "eve", "bob"]


def test_content_is_read_only_when_it_is_asked_for(tmp_path: Path) -> None:
    path = one_file(tmp_path, LINES)
    source = FileSource(path)
    source.user_ids()
    path.write_text(path.read_text().replace("Barcelona", "Tarragona"))
    assert source.user("ann").location == "Tarragona"
    path.write_text("")
    with pytest.raises(FileError, match=r"line 1: the line is not JSON"):
        source.user("ann")


BAD_LINES = [
    ('{"kind": "user", "id": "secret"', "is not JSON"),
    ('["secret"]', "is not a JSON object"),
    ('{"kind": "secret"}', "'kind' must be 'user', 'follows', 'post', 'page'"),
    ('{"id": "secret"}', "'kind' must be"),
    ('{"kind": ["secret"]}', "'kind' must be"),
    ('{"kind": "user"}', "'id' of a user must be a text that is not empty or a whole number"),
    ('{"kind": "user", "id": ""}', "'id' of a user"),
    ('{"kind": "user", "id": true}', "'id' of a user"),
    ('{"kind": "user", "id": 1.5}', "'id' of a user"),
    ('{"kind": "user", "id": "secret", "location": 5}', "'location' of a user must be a text or null"),
    ('{"kind": "user", "id": "secret", "private": "no"}', "'private' of a user must be true or false"),
    ('{"kind": "user", "id": "ann"}', "there is an earlier line of the same user"),
    ('{"kind": "follows", "user": "ann", "follows": "secret"}', "'follows' of a follows must be a list of ids"),
    ('{"kind": "follows", "user": "secret", "follows": []}', "there is no line of the user it belongs to"),
    ('{"kind": "post", "user": "secret", "text": "x"}', "there is no line of the user it belongs to"),
    ('{"kind": "post", "user": "ann"}', "'text' of a post must be a text"),
    ('{"kind": "post", "user": "ann", "text": "x", "urls": "secret"}', "'urls' of a post must be a list of texts"),
    ('{"kind": "post", "user": "ann", "text": "x", "hashtags": [1]}', "'hashtags' of a post must be a list of texts"),
    ('{"kind": "page", "url": "https://a.example/1", "text": ""}', "there is an earlier line of the same page"),
    ('{"kind": "page", "url": 1, "text": "secret"}', "'url' of a page must be a text"),
    ('{"kind": "user", "id": ' + "9" * 5000 + "}", "has a number with too many digits"),
    ("[" * 3000, "is nested too deeply|is not JSON"),
    ('{"kind": "user", "id": "\\ud800"}', "has a text that is not valid Unicode"),
]


@pytest.mark.parametrize(("line", "told"), BAD_LINES)
def test_a_bad_line_is_named_with_what_is_wrong_and_without_its_content(tmp_path: Path, line: str, told: str) -> None:
    path = one_file(tmp_path, LINES)
    path.write_text(path.read_text().rstrip("\n") + f"\n{line}\n")
    with pytest.raises(FileError, match=told) as error:
        FileSource(path).user_ids()
    assert error.value.line == 9
    assert "secret" not in str(error.value)


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "network.jsonl"
    path.write_bytes(b'{"kind": "user", "id": "a"}\n{"kind": "user", "id": "\xff"}\n')
    with pytest.raises(FileError, match="line 2: the line is not UTF-8"):
        FileSource(path).user("a")


def test_a_line_of_another_kind_in_a_file_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "users.jsonl").write_text('{"kind": "page", "url": "x", "text": ""}')
    with pytest.raises(FileError, match=r"users\.jsonl, line 1: 'kind' must be 'user'"):
        FileSource(tmp_path).user_ids()


def test_what_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file or folder"):
        FileSource(tmp_path / "missing.jsonl")
    with pytest.raises(FileError, match=r"has no file 'users\.jsonl'"):
        FileSource(tmp_path)


def test_hashtags_and_links_are_found_in_a_text() -> None:
    post = Post.of("#One (https://a.example/x#two), then http://b.example! and again #three.")
    assert post.hashtags == ("One", "three")
    assert post.urls == ("https://a.example/x#two", "http://b.example")
    assert repr(post) == "Post()"
    assert "Girona" not in repr(User("a", "Girona"))


def test_an_invented_network_depends_on_its_seed_alone_and_not_on_the_order_of_questions() -> None:
    one, other = SyntheticSource(60, seed=5), SyntheticSource(60, seed=5)
    ids = one.user_ids()
    there = [(one.user(u), one.following(u), one.posts(u, 4)) for u in ids]
    back = [(other.user(u), other.following(u), other.posts(u, 4)) for u in reversed(ids)]
    assert there == back[::-1]
    assert [SyntheticSource(60, seed=6).following(u) for u in ids] != [following for _, following, _ in there]
    assert one.posts(ids[0], 9)[:4] == one.posts(ids[0], 4)


@given(st.integers(1, 40), st.integers(0, 1000))
def test_invented_users_follow_others_who_exist(users: int, seed: int) -> None:
    source = SyntheticSource(users, seed=seed)
    for user_id in source.user_ids():
        following = source.following(user_id)
        assert set(following) <= set(source.user_ids()) - {user_id}
        assert len(set(following)) == len(following)
        assert len(set(source.interests(user_id))) == 3


def test_places_and_topics_follow_zipfs_law() -> None:
    source = SyntheticSource(20_000, seed=1)
    ids = source.user_ids()
    for values in ([source.user(u).location for u in ids], [source.interests(u)[0] for u in ids]):
        (_, most), (_, second), (_, third), *_ = Counter(values).most_common()
        assert most / second == pytest.approx(2, rel=0.1)
        assert most / third == pytest.approx(3, rel=0.15)


def test_users_follow_those_who_are_like_them_the_more_the_higher_the_homophily() -> None:
    def share_of_same(homophily: float) -> tuple[float, float]:
        source = SyntheticSource(600, seed=2, homophily=homophily)
        links = [(u, v) for u in source.user_ids() for v in source.following(u)]
        places = [source.user(u).location == source.user(v).location for u, v in links]
        topics = [source.interests(u)[0] == source.interests(v)[0] for u, v in links]
        return float(np.mean(places)), float(np.mean(topics))

    (place_0, topic_0), (place_2, topic_2) = share_of_same(0.0), share_of_same(2.0)
    assert place_2 > 2 * place_0
    assert topic_2 > 2 * topic_0


def test_every_link_of_an_invented_post_leads_to_a_page_on_the_topic_of_the_post() -> None:
    source, classifier = SyntheticSource(40, seed=3, linking=1.0, small_talk=0.0), WordTopics()
    for user_id in source.user_ids():
        for post in source.posts(user_id, 3):
            (url,) = post.urls
            page = source.text(url)
            assert page is not None
            assert classifier.decision(page).label in source.interests(user_id)
    for url in (
        "https://pages.example/topic-99-1",
        "https://pages.example/topic-1-x",
        "https://b.example/topic-1-1",
        "",
    ):
        assert source.text(url) is None


def test_private_invented_users_and_strangers_cannot_be_reached() -> None:
    source = SyntheticSource(200, seed=4, private=0.3)
    reached = 0
    for user_id in source.user_ids():
        try:
            source.user(user_id)
            reached += 1
        except UnreachableUserError:
            with pytest.raises(UnreachableUserError):
                source.following(user_id)
    assert 110 <= reached <= 170
    for stranger in ("u200", "u0200", "u٠01", "x001", "", "u-01"):
        with pytest.raises(UnreachableUserError):
            source.user(stranger)


@pytest.mark.parametrize(
    "options",
    [{"users": 0}, {"follows": -1.0}, {"homophily": 99.0}, {"zipf": float("nan")}, {"linking": 1.1}, {"private": -0.1}],
)
def test_impossible_networks_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(options))} must be"):
        SyntheticSource(**{"users": 10, "seed": 1} | options)


def test_no_source_opens_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket, "socket", refuse)
    for source in (SyntheticSource(10, seed=1), FileSource(one_file(tmp_path, LINES))):
        user_id = source.user_ids()[0]
        assert source.posts(user_id, 1)
        source.text("https://a.example/1")
