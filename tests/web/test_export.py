"""The folder and the file: what is in them, that they appear whole, and what reduced precision costs."""

import gzip
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, ReleaseError
from discreet.web.export import RELEASE, release_file, site_files
from discreet.web.file_format import FileArrays, read_array, read_header
from discreet.web.loss import precision_loss

PAGE = {"index.html", "app.js", "style.css", "discreet.js", "discreet.d.ts", "perturb.js", "service-worker.js"}


def test_the_folder_holds_the_page_the_module_and_the_release(exported):
    folder = exported("almanac").folder
    assert {*PAGE, RELEASE, "manifest.webmanifest", "package.json"} <= {path.name for path in folder.iterdir()}


def test_guarantee_and_ledger_travel_inside(ratings, tmp_path):
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    release = dc.Almanac().fit(dc.TrustedServer(ratings, ledger))
    header = read_header(release_file(release))
    assert header["guarantee"]["proven"] == {"epsilon": 1.0, "delta": 1e-6}
    assert " ".join(header["guarantee"]["sentences"]) == str(release.guarantee)
    assert [spend["what"] for spend in header["card"]["ledger"]] == [spend.what for spend in release.spends]
    assert header["model"] == "almanac" and header["scale"] == [1.0, 5.0]


def test_the_same_release_gives_the_same_bytes(exported):
    assert release_file(exported("almanac").release) == release_file(exported("almanac").release)


def test_no_axis_is_as_long_as_there_are_users(exported, ratings):
    for name in ("almanac", "cosine", "als"):
        table = read_header((exported(name).folder / RELEASE).read_bytes())["arrays"]
        assert all(ratings.n_users not in said["shape"] for said in table.values())


def test_arrays_are_read_back_as_they_were_written():
    arrays = FileArrays()
    matrix = np.zeros((10, 3), dtype=np.float32)
    matrix[[2, 7]] = [[1, 2, 3], [4, 5, 6]]
    assert (arrays.matrix("matrix", matrix) == matrix).all()
    arrays.whole("counts", np.array([1, 300]))
    content = arrays.file({})
    assert read_array(content, "matrix").tolist() == [[1, 2, 3], [4, 5, 6]]  # only rows that are not 0
    assert read_array(content, "matrix.rows").tolist() == [2, 7]
    assert read_array(content, "counts").tolist() == [1, 300]
    assert all(said["at"] % 8 == 0 for said in read_header(content)["arrays"].values())


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"too short"), gzip.compress(b"SOMETHINGELSE" * 9)],
    ids=["empty", "no gzip", "too short", "another"],  # the packed bytes hold the time, which differs between workers
)
def test_another_file_is_refused_in_one_sentence(content):
    with pytest.raises(ReleaseError, match="no release for devices"):
        read_header(content)


def test_an_export_is_replaced_only_if_asked(exported, tmp_path):
    release, folder = exported("bias").release, tmp_path / "web"
    dc.web.export_release(release, folder)
    with pytest.raises(InputError, match="holds an export"):
        dc.web.export_release(release, folder)
    (folder / "left over.txt").write_text("of an earlier version")
    dc.web.export_release(release, folder, replace=True)
    assert not (folder / "left over.txt").exists() and (folder / RELEASE).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["web"]


def test_what_is_no_export_is_never_replaced(exported, tmp_path):
    (tmp_path / "mine.txt").write_text("my own")
    for folder in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(InputError, match="nothing was written"):
            dc.web.export_release(exported("bias").release, folder, replace=True)
    assert (tmp_path / "mine.txt").read_text() == "my own"


def test_an_unknown_precision_is_refused(exported, tmp_path):
    with pytest.raises(InputError, match="precision must be one of float32, float16, int8"):
        dc.web.export_release(exported("bias").release, tmp_path / "web", precision="float8")


def test_the_worker_changes_with_any_file(exported, tmp_path):
    one = (exported("bias").folder / "service-worker.js").read_text()
    other = (exported("popularity").folder / "service-worker.js").read_text()
    assert one != other
    listed = set(json.loads(re.search(r"const FILES = (\[.*\]);", one).group(1)))
    here = {path.name for path in exported("bias").folder.iterdir() if not path.name.endswith(".d.ts")}
    assert listed == {"./", *here} - {"service-worker.js"}


@pytest.mark.parametrize("name", ["almanac", "cosine", "als", "svd", "mult-vae", "bayesian-mf", "pnbm, lists"])
def test_half_precision_is_smaller_and_its_loss_is_measured(name, exported):
    release = exported(name).release
    exact, half = precision_loss(release, "float32"), precision_loss(release, "float16")
    # What is written in single precision is what Python computes with, but for rounding of a product in the Almanac.
    assert exact.score < 1e-5 and exact.kept_items == 1.0
    assert 0 < half.score < 0.2 and half.kept_items > 0.9
    assert len(release_file(release, "float16")) < len(release_file(release)) - 100
    assert len(release_file(release, "int8")) < len(release_file(release, "float16"))
    assert precision_loss(release, "int8").score > half.score


def test_bytes_keep_a_column_in_half_floats_where_they_would_blur_it(node, tmp_path):
    """A column of 0 and 1 is exact in bytes; one with a number far out is not. node reads the same."""
    rng = np.random.default_rng(1)
    values = np.zeros((300, 4), dtype=np.float32)
    values[:100] = np.c_[rng.integers(0, 2, (100, 1)), rng.normal(size=(100, 2)), rng.integers(-1, 2, (100, 1))]
    values[0, 2] = 40.0
    arrays = FileArrays("int8")
    found = arrays.matrix("m", values, closely=True)
    plain = FileArrays("int8").matrix("m", values)
    content = arrays.file({})
    assert read_array(content, "m.fine_columns").tolist() == [1, 2] and read_array(content, "m").shape == (100, 2)
    assert np.array_equal(found[:, [0, 3]], values[:, [0, 3]])
    assert np.abs(found[1:, 2] - values[1:, 2]).max() < 0.002 < 0.1 < np.abs(plain[1:, 2] - values[1:, 2]).max()
    (tmp_path / "m.discreet").write_bytes(content)
    (tmp_path / "format.mjs").write_bytes(site_files()["format.js"])
    program = """
        import { decode } from "./format.mjs"; import { readFile } from "node:fs/promises";
        const { arrays } = await decode(await readFile("m.discreet"));
        console.log(JSON.stringify(Array.from(arrays.matrix("m").at)));
    """
    (tmp_path / "read.mjs").write_text(program)
    read = subprocess.run([node, "read.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert np.array_equal(np.float32(json.loads(read.stdout)).reshape(300, 4), found)


def test_in_bytes_an_almanac_still_ranks_well(ratings):
    ledger = dc.Ledger(epsilon=20.0, delta=1e-6, unit=dc.Rating())
    release = dc.Almanac().fit(dc.TrustedServer(ratings, ledger))
    assert precision_loss(release, "int8").kept_items > 0.97


def test_the_page_asks_for_nothing_from_elsewhere():
    for name, content in site_files().items():
        addresses = re.findall(r"https?://[^\s\"'`)]+", content.decode())
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, name
    page = site_files()["index.html"].decode()
    assert "default-src 'none'" in page and "form-action 'none'" in page
    assert "<script>" not in page and " style=" not in page and not re.search(r"\son\w+=", page)


@pytest.mark.parametrize(
    "source",
    ['"./site/release.discreet"', 'new URL("./site/release.discreet", import.meta.url)'],
)
def test_the_module_of_the_page_opens_a_file_in_node(source, exported, node, tmp_path):
    """As docs/device.md has it: copied into an app, or installed as a package."""
    shutil.copytree(exported("almanac").folder, tmp_path / "site")
    titles = exported("almanac").release.catalogue.titles.tolist()
    program = f"""
        import {{ open }} from "./site/discreet.js";
        const release = await open({source});
        console.log(release.recommend({{ {json.dumps(titles[0])}: 5 }}, 3).length);
        await open("./nowhere.discreet").catch((error) => console.log(error.message));
    """
    (tmp_path / "app.mjs").write_text(program)
    said = subprocess.run([node, "app.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["3", "./nowhere.discreet cannot be read: there is no such file"]


def test_the_folder_is_a_package(exported, node, tmp_path):
    (tmp_path / "node_modules").mkdir()
    shutil.copytree(exported("almanac").folder, tmp_path / "node_modules" / "discreet-release")
    program = """
        import { open } from "discreet-release";
        import { perturb } from "discreet-release/perturb.js";
        const release = await open(new URL(import.meta.resolve("discreet-release/release.discreet")));
        console.log(release.model, typeof perturb);
    """
    (tmp_path / "app.mjs").write_text(program)
    said = subprocess.run([node, "app.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert said.stdout == "almanac function\n", said.stderr


def test_types_name_what_the_modules_export():
    for name in ("discreet", "perturb"):
        files = site_files()
        declared = set(re.findall(r"export (?:class|function) (\w+)", files[f"{name}.d.ts"].decode()))
        offered = set(re.findall(r"export (?:async )?(?:class|function) (\w+)", files[f"{name}.js"].decode()))
        assert declared and declared <= offered, name
