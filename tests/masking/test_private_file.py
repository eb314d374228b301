"""The private file beside a release: it brings back what the masking used, and only its owner can read it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import logging
import os
import random
import stat
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microveil as mv
from microveil.attacks.linkage.likelihood import LikelihoodLinkage
from microveil.cli.app import app
from microveil.errors import FileError, OutputExistsError, ParameterError
from microveil.masking.base import Method
from microveil.masking.partition import Partition
from microveil.masking.private_file import PrivateContent, read_private_file

FORMATS = ["csv", "csv.gz", "parquet", "xlsx", "sav", "dta"]
STEPS = {
    "groups": [("mdav", {"k": 4}, ("age", "income"))],
    "blocks": [("individual-ranking", {"k": 3}, ("age", "income"))],
    "matrix": [("pram", {"p": 0.8}, ("job",))],
    "joint matrix": [("pram", {"p": 0.8, "compound": True}, ("job", "sex"))],
    "sample": [("sampling", {"share": 0.6}, ("income",)), ("mdav", {"k": 3}, ("age",))],
    "all": [("mdav", {"k": 4}, ("age",)), ("pram", {"p": 0.8}, ("job",))],
}


def people(records: int = 60) -> mv.Microdata:
    rng = np.random.default_rng(5)
    return mv.Microdata.of(
        {
            "age": rng.integers(18, 90, records),
            "income": rng.integers(900, 9000, records),
            "job": rng.choice(["cook", "judge", "nurse"], records),
            "sex": rng.choice(["f", "m"], records),
        },
        keys=["age", "job", "sex"],
        nominal=["job", "sex"],
    )


def made(which: str, *, shuffle: bool = False) -> mv.Release:
    steps = tuple(mv.Step(method, parameters, attributes) for method, parameters, attributes in STEPS[which])
    return mv.protect(people(), mv.Plan(steps, 2**70, shuffle=shuffle))


def assert_same(one: mv.Release, other: mv.Release) -> None:
    assert one.partitions == other.partitions
    assert list(one.matrices) == list(other.matrices)
    assert all(np.array_equal(one.matrices[name], other.matrices[name]) for name in one.matrices)
    assert (one.rows is None) == (other.rows is None)
    assert one.rows is None or other.rows is None or one.rows.tolist() == other.rows.tolist()
    assert {name: one.agreed[name].tolist() for name in one.agreed} == {
        name: other.agreed[name].tolist() for name in other.agreed
    }


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("which", STEPS)
def test_a_release_is_read_back_with_what_its_masking_used(tmp_path: Path, which: str, shuffle: bool) -> None:
    release = made(which, shuffle=shuffle)
    saved = release.save(tmp_path / "safe.csv")
    assert saved.private == tmp_path / "safe.csv.private.json"
    assert_same(mv.read_release(saved.table), release)
    assert_same(mv.read_release(saved.table, people()), release)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_has_it(tmp_path: Path, ending: str) -> None:
    release = made("all", shuffle=True)
    saved = release.save(tmp_path / f"safe.{ending}")
    assert_same(mv.read_release(saved.table, people()), release)


def test_a_release_from_files_gives_the_same_battery_as_in_memory(tmp_path: Path) -> None:
    release = made("all", shuffle=True)
    back = mv.read_release(release.save(tmp_path / "safe.csv").table, people())
    assert mv.run_battery(people(), back).to_plain() == mv.run_battery(people(), release).to_plain()


@pytest.mark.parametrize("which", ["all", "sample"])
def test_assess_and_report_mask_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    mv.write(people(), tmp_path / "people.csv")
    made(which, shuffle=True).save(tmp_path / "safe.csv")

    def mask(self: Method, *given: Any, **named: Any) -> Any:
        raise AssertionError(f"{self.name} masks again")

    monkeypatch.setattr(Method, "mask", mask)
    # the adviser of a report tries changes on the original
    monkeypatch.setattr("microveil.reporting.report_internal.advise_on", lambda *given, **named: None)
    # this intruder masks what they know, with seeds of their own
    monkeypatch.setattr(LikelihoodLinkage, "suited", classmethod(lambda cls, pair: ()))
    tables = [str(tmp_path / name) for name in ("people.csv", "safe.csv")]
    app(["assess", *tables, "--attacks", "all", "--losses", "il1", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    app(["report", *tables, "--attacks", "all", "--losses", "il1", "--out", str(tmp_path / "r.html")],
        standalone_mode=False)  # fmt: skip
    (tmp_path / "safe.csv.private.json").unlink()
    if which == "all":
        app(["assess", *tables, "--attacks", "all", "--losses", "il1"], standalone_mode=False)
        told = capsys.readouterr()
        assert "the private file 'safe.csv.private.json' is missing" in " ".join(told.err.split())
        app(["report", *tables, "--attacks", "all", "--losses", "il1", "--out", str(tmp_path / "r.html"), "--force"],
            standalone_mode=False)  # fmt: skip
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert "safe.csv.private.json" in page
        assert "is missing" in page


# --- who may see it --------------------------------------------------------------------------------------------------


def test_it_is_for_its_owner_from_its_first_byte_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, modes = Path.write_bytes, []

    def write_bytes(self: Path, content: bytes) -> int:
        modes.append(stat.S_IMODE(self.stat().st_mode))
        return real(self, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    before = os.umask(0)
    try:
        saved = made("all").save(tmp_path / "safe.csv")
    finally:
        os.umask(before)
    assert saved.private is not None
    assert set(modes) == {0o600}
    assert stat.S_IMODE(saved.private.stat().st_mode) == 0o600
    assert stat.S_IMODE(saved.table.stat().st_mode) == 0o666


def test_its_bytes_are_the_same_each_time_and_no_value_is_among_them(tmp_path: Path) -> None:
    one, two = (made("all", shuffle=True).save(tmp_path / name) for name in ("one.csv", "two.csv"))
    assert one.private is not None
    assert two.private is not None
    content = one.private.read_bytes()
    assert content == two.private.read_bytes()
    assert one.manifest.read_bytes() == two.manifest.read_bytes()
    assert not any(value in content for value in (b"cook", b"judge", b"nurse"))
    named = json.loads(content)
    assert named["format"] == 1
    assert named["digest"] == made("all", shuffle=True).data.digest()


def test_integers_are_packed(tmp_path: Path) -> None:
    labels = np.random.default_rng(1).integers(0, 20_000, 100_000)
    packed = len(PrivateContent({("a",): Partition.of(labels)}).to_text("d"))
    assert packed < 300_000  # 800,000 as they lie in memory


def test_protect_names_it_and_shows_nothing_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mv.write(people(), tmp_path / "people.csv")
    words = ["protect", str(tmp_path / "people.csv"), "--keys", "age", "--method", "mdav", "--shuffle-records"]
    app([*words, "--out", str(tmp_path / "safe.csv")], standalone_mode=False)
    told = "".join(capsys.readouterr().out.split())
    assert "".join(f"private file written to {tmp_path}/safe.csv.private.json; keep it private".split()) in told
    app([*words, "--json", "--out", str(tmp_path / "again.csv")], standalone_mode=False)
    shown = capsys.readouterr().out
    plain = json.loads(shown)
    private = tmp_path / "again.csv.private.json"
    assert plain["private"] == str(private)
    assert hashlib.sha256(private.read_bytes()).hexdigest() not in shown + caplog.text
    assert not {"rows", "partitions", "matrices", "agreed"} & set(plain)
    app([*words[:-1], "--method", "noise", "--json", "--out", str(tmp_path / "n.csv")], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["private"] is None


# --- beside what was there before ------------------------------------------------------------------------------------


def test_one_of_an_earlier_release_goes_with_it(tmp_path: Path) -> None:
    saved = made("all").save(tmp_path / "safe.csv")
    assert saved.private is not None
    noise = mv.Noise().mask(people(), ["income"])
    with pytest.raises(OutputExistsError):
        noise.save(tmp_path / "safe.csv")
    assert noise.save(tmp_path / "safe.csv", force=True).private is None
    assert sorted(os.listdir(tmp_path)) == ["safe.csv", "safe.csv.manifest.json"]


def test_one_that_lies_there_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "safe.csv.private.json").write_text("mine")
    for release in (made("all"), mv.Noise().mask(people(), ["income"])):
        with pytest.raises(OutputExistsError, match=r"safe\.csv\.private\.json"):
            release.save(tmp_path / "safe.csv")
    assert os.listdir(tmp_path) == ["safe.csv.private.json"]
    assert (tmp_path / "safe.csv.private.json").read_text() == "mine"


def test_a_report_does_not_overwrite_it(tmp_path: Path) -> None:
    mv.write(people(), tmp_path / "people.csv")
    saved = made("all").save(tmp_path / "safe.csv")
    with pytest.raises(ParameterError, match="would overwrite the input"):
        app(["report", str(tmp_path / "people.csv"), str(saved.table), "--out", str(saved.private), "--force"],
            standalone_mode=False)  # fmt: skip


# --- damaged, foreign and hostile files ------------------------------------------------------------------------------


def read_back(path: Path, digest: str = "d") -> PrivateContent:
    return read_private_file(path, digest=digest, records=5, input_records=8)


CONTENT = PrivateContent(
    {("age", "pay"): Partition.of([0, 0, 1, 1, 1])},
    {("job",): np.array([[0.9, 0.1], [0.2, 0.8]])},
    np.array([7, 0, 3, 2, 5]),
    {"rooms": np.array([True, False, True, True, False])},
)


def test_content_comes_back_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "x.private.json"
    place.write_text(CONTENT.to_text("d"))
    back = read_back(place)
    assert back.partitions == CONTENT.partitions
    assert back.matrices[("job",)].tolist() == [[0.9, 0.1], [0.2, 0.8]]
    assert back.rows is not None
    assert back.rows.tolist() == [7, 0, 3, 2, 5]
    assert back.agreed["rooms"].tolist() == [True, False, True, True, False]
    assert back.agreed["rooms"].dtype == np.bool_


def test_a_matrix_may_be_named_by_several_attributes(tmp_path: Path) -> None:
    both: Any = {("job", "sex"): np.eye(2)}
    (tmp_path / "x").write_text(PrivateContent(matrices=both).to_text("d"))
    assert list(read_back(tmp_path / "x").matrices) == [("job", "sex")]


@pytest.mark.parametrize("seed", range(40))
def test_what_was_damaged_is_refused_before_and_after_the_manifest_is_asked(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    saved = made("groups").save(tmp_path / "safe.csv")
    assert saved.private is not None
    content = bytearray(saved.private.read_bytes())
    if seed % 2:
        del content[rng.randrange(len(content)) :]
    else:
        for _ in range(rng.randint(1, 8)):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    saved.private.write_bytes(content)
    with pytest.raises(FileError, match=r"is damaged, or was not written together with safe\.csv"):
        mv.read_release(saved.table)
    manifest = json.loads(saved.manifest.read_text())  # whoever changes the file may change the manifest too
    manifest["output"]["private_sha256"] = hashlib.sha256(content).hexdigest()
    saved.manifest.write_text(json.dumps(manifest))
    with contextlib.suppress(FileError):
        back = mv.read_release(saved.table)  # what cannot be seen to be wrong is at least of the right shape
        assert [len(partition.labels) for partition in back.partitions.values()] == [60]


def rewritten(change: Callable[[dict[str, Any]], Any]) -> str:
    """The file of `CONTENT` with something changed."""
    content = json.loads(CONTENT.to_text("d"))
    changed = change(content)
    return json.dumps(content if changed is None else changed)


def packed(values: Any, stored: str) -> str:
    return base64.b64encode(zlib.compress(np.asarray(values, dtype=stored).tobytes())).decode()


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no table": lambda d: [1, 2],
    "no version": lambda d: d.pop("format") and None,
    "no digest": lambda d: d.pop("digest") and None,
    "no arrays": lambda d: d.pop("arrays") and None,
    "an unknown kind": lambda d: d["arrays"][0].update(kind="pickle"),
    "arrays of another type": lambda d: d.update(arrays=[1, 2, 3, 4]),
    "arrays that are none": lambda d: d.update(arrays={"a": 1}),
    "names of another type": lambda d: d["arrays"][0].update(attributes=[1]),
    "names as a text": lambda d: d["arrays"][0].update(attributes="age"),
    "a matrix without a name": lambda d: d["arrays"][1].update(attributes=[]),
    "no name": lambda d: d["arrays"][3].update(attributes=[]),
    "a shorter array": lambda d: d["arrays"][0].update(shape=[4]),
    "a longer array": lambda d: d["arrays"][0].update(shape=[6]),
    "a huge length": lambda d: d["arrays"][0].update(shape=[2**60]),
    "a huge matrix": lambda d: d["arrays"][1].update(shape=[2**30, 2**30]),
    "a negative matrix": lambda d: d["arrays"][1].update(shape=[-2, -2]),
    "a flat matrix": lambda d: d["arrays"][1].update(shape=[4]),
    "a shape that is a number": lambda d: d["arrays"][1].update(shape=4),
    "objects": lambda d: d["arrays"][0].update(type="O"),
    "numbers for groups": lambda d: d["arrays"][0].update(type="<f8", values=packed([0.5] * 5, "<f8")),
    "a matrix that is not finite": lambda d: d["arrays"][1].update(values=packed([np.nan] * 4, "<f8")),
    "rows twice": lambda d: d["arrays"].append(d["arrays"][2]),
    "rows of too few": lambda d: d["arrays"][2].update(shape=[2], values=packed([1, 2], "<u1")),
    "a record that the original does not have": lambda d: d["arrays"][2].update(values=packed([8] * 5, "<u1")),
    "text that is not base64": lambda d: d["arrays"][0].update(values="é"),
    "values that are not compressed": lambda d: d["arrays"][0].update(values="AAAA"),
    "values cut off": lambda d: d["arrays"][0].update(values=d["arrays"][0]["values"][:8]),
    "values that unpack to far more": lambda d: d["arrays"][0].update(values=base64.b64encode(
        zlib.compress(bytes(1 << 28), 9)).decode()),
    "something after the values": lambda d: d["arrays"][0].update(values=base64.b64encode(
        zlib.compress(bytes(5)) + b"more").decode()),
    "deep nesting": lambda d: d.update(arrays=json.loads("[" * 300 + "]" * 300)),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_no_release_has_written_is_refused(tmp_path: Path, damage: str) -> None:
    (tmp_path / "x").write_text(rewritten(DAMAGES[damage]))
    with pytest.raises(FileError, match="this private file is damaged"):
        read_back(tmp_path / "x")


def test_values_that_unpack_to_far_more_take_no_memory(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(rewritten(DAMAGES["values that unpack to far more"]))
    tracemalloc.start()
    try:
        with pytest.raises(FileError):
            read_back(tmp_path / "x")
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(CONTENT.to_text("another"))
    with pytest.raises(FileError, match="is the private file of another table"):
        read_back(tmp_path / "x")
    (tmp_path / "x").write_text(rewritten(lambda d: d.update(format=2)))
    with pytest.raises(FileError, match="was written by a newer version of Microveil"):
        read_back(tmp_path / "x")
    for content in (b"", b"PK\x03\x04", b"\xff\xfe", b"[" * 100_000, b"1" * 10_000):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(FileError, match="this private file is damaged"):
            read_back(tmp_path / "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="this is a pipe"):
        read_back(tmp_path / "pipe")


def test_a_file_that_is_far_too_large_is_refused(tmp_path: Path) -> None:
    saved = made("groups").save(tmp_path / "safe.csv")
    assert saved.private is not None
    with saved.private.open("r+b") as file:
        file.truncate(1 << 28)  # of nothing but zeros
    with pytest.raises(FileError, match=r"is damaged, or was not written together with safe\.csv"):
        mv.read_release(saved.table)
    with saved.private.open("r+b") as file:
        file.truncate(3 << 30)
    with pytest.raises(FileError, match="is larger than 2,048 MB"):
        read_back(saved.private)
