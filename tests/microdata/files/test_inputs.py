"""What is not a file with an end is not read; encodings that do not fit are told in a sentence."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from microveil.errors import FileError
from microveil.masking.plan import read_plan
from microveil.masking.randomising.matrices import read_matrix
from microveil.microdata import Hierarchy, Microdata, Schema
from microveil.microdata.files import read, write
from microveil.microdata.files.inputs import read_text
from microveil.study.design import read_design

READERS: tuple[Callable[[Path], Any], ...] = (read, Schema.read, Hierarchy.read, read_plan, read_matrix, read_design)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__qualname__)
def test_pipes_devices_sockets_and_folders_are_refused_at_once(
    tmp_path: Path, reader: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    os.mkfifo("pipe.csv")
    Path("device.csv").symlink_to("/dev/zero")
    Path("folder.csv").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.csv")
        for name, kind in (("pipe", "a pipe"), ("device", "a device"), ("socket", "a socket"), ("folder", "a folder")):
            with pytest.raises(FileError, match=rf"^{name}\.csv: .*this is {kind}; "):
                reader(Path(f"{name}.csv"))


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(FileError, match="File name too long"):
        read("n" * 300 + ".csv")
    with pytest.raises(FileError, match="no file can have this name"):
        read("n\0.csv")


def test_a_small_file_is_read_up_to_its_limit_only(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(1000)))
    assert read_text(tmp_path / "a.gz", most=1000) == "\0" * 1000
    with pytest.raises(FileError, match="is larger than 0 MB"):
        read_text(tmp_path / "a.gz", most=999)
    (tmp_path / "b.gz").write_bytes(gzip.compress(bytes(1000))[:-9])
    with pytest.raises(FileError, match="damaged or cut off"):
        read_text(tmp_path / "b.gz")


def test_gzipped_hierarchies_come_back_as_they_were(tmp_path: Path) -> None:
    towns = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*")])
    towns.write(tmp_path / "towns.csv.gz")
    assert gzip.decompress((tmp_path / "towns.csv.gz").read_bytes()).startswith(b"level0,level1,level2\nGraz,")
    assert Hierarchy.read(tmp_path / "towns.csv.gz") == towns
    (tmp_path / "s.toml").write_text('[attributes.town]\nkind = "nominal"\nhierarchy = "towns.csv.gz"\n')
    assert Schema.read(tmp_path / "s.toml")["town"].hierarchy == towns


@pytest.mark.parametrize("stored", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_without_a_mark_are_read(tmp_path: Path, stored: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("name,n\nŁódź,1\n東京,2\n".encode(stored))
    for given in (stored, stored[:6]):
        data = read(path, encoding=given)
        assert data.arrow("name").to_pylist() == ["Łódź", "東京"]
        assert data.arrow("n").to_pylist() == [1, 2]


@pytest.mark.parametrize("given", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_text_that_is_not_in_the_wide_encoding_given_is_refused(tmp_path: Path, given: str) -> None:
    path = tmp_path / "t.csv"
    for content in (
        b"a,b\n1,2\n",
        b"a,b\n1,2\n3,45",
        "a,b\n1,2\n".encode("utf-16-le" if "be" in given else "utf-16-be"),
    ):
        if given.endswith(("16", "32")) and b"\0" in content:
            continue
        path.write_bytes(content)
        with pytest.raises(FileError, match=f"is not a text in {given}; give its true encoding"):
            read(path, encoding=given)


@pytest.mark.parametrize("given", ["punycode", "idna", "unicode_escape", "undefined", "rot13", "no such", "", "a\0b"])
def test_what_is_no_encoding_of_files_is_refused(tmp_path: Path, given: str) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(FileError, match="unknown encoding"):
        read(tmp_path / "t.csv", encoding=given)


FORMULAS = ["=1+1", "+49 30", "-5 to 0", "@x", "\tx", "\rx", "'=kept", "''-kept", "plain", "a=b", None]


def test_formulas_in_csv_files_are_neutralised_when_wanted_and_read_back(tmp_path: Path) -> None:
    data = Microdata.of(pa.table({"=name": FORMULAS, "n": [-1.5] * len(FORMULAS)}))
    write(data, tmp_path / "as-they-are.csv")
    assert (tmp_path / "as-they-are.csv").read_bytes().startswith(b"=name,n\n=1+1,-1.5\n")
    write(data, tmp_path / "t.csv", neutralise_formulas=True)
    lines = (tmp_path / "t.csv").read_bytes().split(b"\n")
    assert lines[:5] == [b"'=name,n", b"'=1+1,-1.5", b"'+49 30,-1.5", b"'-5 to 0,-1.5", b"'@x,-1.5"]
    assert lines[5:10] == [b"'\tx,-1.5", b'"\'\rx",-1.5', b"''=kept,-1.5", b"'''-kept,-1.5", b"plain,-1.5"]
    back = read(tmp_path / "t.csv", neutralised=True)
    assert back.names == ("=name", "n")
    assert back.arrow("=name").to_pylist() == FORMULAS


def test_texts_in_workbooks_are_never_formulas(tmp_path: Path) -> None:
    import zipfile

    write(Microdata.of(pa.table({"=name": FORMULAS})), tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        sheet, styles = (archive.read(f"xl/{part}.xml").decode() for part in ("worksheets/sheet1", "styles"))
    assert "<f>" not in sheet
    # the second style says that the text was typed after an apostrophe; it is that of the formulas and of no other cell
    assert styles.count('quotePrefix="1"') == 1
    assert sheet.count('s="1"') == 7
    assert read(tmp_path / "t.xlsx").arrow("=name").to_pylist()[:4] == FORMULAS[:4]
