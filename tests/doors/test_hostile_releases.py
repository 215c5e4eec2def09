"""A release may come from anyone: whatever is in it, the worst that happens is one clear sentence.

Cases are in ``tests/fuzz``: every array of every model and fields of every card, damaged with the checksums
mended, and everything that is no release at all. They run in processes of their own, so that a crash is noticed.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, InputError, ReleaseError
from discreet.names import every_kind
from discreet.printable import printable
from discreet.privacy.guarantee import Guarantee
from discreet.releases.arrays_file import read_arrays, read_table, strings, write_arrays
from discreet.releases.card_schema import CARD, check_kind
from discreet.releases.declared import Array, DeclaringModel

from ..fuzz import using as fuzz
from ..fuzz.counting import counted
from ..fuzz.releases import cases
from ..fuzz.undeclared_model import Neighbours

ONE_IN = 24
"""Of the cases with arrays and fields; ``python -m tests.fuzz.hostile_releases`` runs all."""


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("releases")
    fuzz.prepare(folder)
    return folder


@pytest.fixture
def folder(home, tmp_path) -> Path:
    dc.Release.load(home / "cosine").save(tmp_path / "release")
    return tmp_path / "release"


# ── All of it ──


def test_no_hostile_release_does_more_than_a_sentence(home, door):
    found = counted("tests.fuzz.releases", [home, 3, ONE_IN])
    bad = [one for one in found if one.what not in ("result", "sentence")]
    assert not bad, "\n".join(map(str, bad))
    counts = Counter(one.what for one in found)
    assert counts["sentence"] > 300 and counts["result"] > 20
    door(
        "a release is read safely",
        "positions outside of the catalogue crashed predict, 46 damaged cards or arrays gave tracebacks, a pipe hung",
        f"{len(found)} hostile releases: {counts['sentence']} sentences, {counts['result']} can be used, nothing else",
    )


def test_the_releases_that_are_damaged_are_themselves_fine(home):
    originals = [path for path in home.iterdir() if not path.name.startswith(".")]
    assert len(originals) >= len(every_kind()) + 8
    for original in originals:
        fuzz.use(original)


# ── Doors that were open ──


def changed(folder: Path, **arrays: np.ndarray) -> None:
    fuzz.rewrite(folder, fuzz.members_of(folder) | arrays)


@pytest.mark.parametrize("position", [2147483638, -1, 12, -2147483648])
def test_a_neighbour_outside_of_the_catalogue_is_refused(folder, position):
    neighbours = fuzz.members_of(folder)["neighbours"].copy()
    neighbours[3, 2] = position
    changed(folder, neighbours=neighbours)
    with pytest.raises(ReleaseError, match="the array 'neighbours' names an item outside of the 12 of the catalogue"):
        dc.Release.load(folder)


def test_an_array_of_another_shape_is_refused_before_it_is_read(folder):
    changed(folder, item_bias=np.zeros(1, np.float32))
    with pytest.raises(ReleaseError, match="'item_bias' of Cosine must have the shape 12, and has 1"):
        dc.Release.load(folder)


def test_arrays_that_say_what_the_model_does_not_release_are_refused(folder):
    changed(folder, users=np.zeros((40, 3), np.float32))
    with pytest.raises(ReleaseError, match="Cosine releases no array 'users'"):
        dc.Release.load(folder)


def test_items_that_are_not_those_of_the_card_are_refused(folder):
    card = fuzz.card_of(folder)
    fuzz.write_card(folder, card | {"catalogue_fingerprint": "0" * 64})
    with pytest.raises(ReleaseError, match="its items are not those that the card names by their fingerprint"):
        dc.Release.load(folder)


def test_a_release_that_was_cut_by_hand_is_refused_too():
    """``truncated`` once made lists of a paper's square matrix, and its kernel read beyond them."""
    ratings = fuzz.RATINGS
    release = dc.papers.DPSGDPNBM(iterations=1).fit(ratings)
    with pytest.raises(InputError, match="DPSGDPNBM releases no array 'neighbours'"):
        dc.truncated(release, 3)


def test_a_bomb_is_refused_by_its_size(folder):
    """One file of 2^40 bytes, of which the disk holds none."""
    header = {"weights": {"dtype": "F32", "shape": [2**19, 2**19], "data_offsets": [0, 2**40]}}
    content = json.dumps(header).encode()
    with (folder / "arrays.safetensors").open("wb") as file:
        file.write(len(content).to_bytes(8, "little") + content)
        file.truncate(8 + len(content) + 2**40)
    card = fuzz.card_of(folder)
    fuzz.write_card(folder, card | {"arrays": {"weights": {"type": "F32", "shape": [2**19, 2**19]}}})
    with pytest.raises(ReleaseError, match="it has no list of items"):
        dc.Release.load(folder)
    with pytest.raises(ReleaseError, match=r"takes 1,099.5 GB of memory, and this machine has no more than"):
        read_arrays(folder / "arrays.safetensors", read_table(folder / "arrays.safetensors"), "")


def test_the_format_before_is_refused_with_what_to_do(folder):
    fuzz.write_card(folder, fuzz.card_of(folder) | {"format": 1})
    with pytest.raises(ReleaseError, match=r"has format 1, .* reads 2: it was written by an earlier version, so fit"):
        dc.Release.load(folder)


# ── The terminal ──


@given(st.text(st.characters(), max_size=50))
def test_what_is_printed_holds_no_control_character(text):
    shown = printable(text)
    assert not any(ord(letter) < 32 and letter != "\t" for letter in shown)
    assert not any(0x7F <= ord(letter) < 0xA0 or letter in "\u202a\u202e\u2066\u2069\u2028" for letter in shown)
    shown.encode()  # nothing is left that cannot be
    assert printable(shown) == shown
    assert printable(text, lines=True).count("\n") == text.count("\n")


def test_a_title_cannot_forge_a_line_of_a_table(home, tmp_path, capsys):
    release = dc.Release.load(home / "popularity")
    titles = np.array([f"\x1b[2Jfilm {n}\n  9   a forged row\u202e" for n in range(12)])
    catalogue = dc.Catalogue.of(release.catalogue.items, release.catalogue.scale, titles=titles.tolist())
    forged = dc.Release(release.model, release.arrays, catalogue, Guarantee.none("a\nproven: \x9b epsilon 0"))
    forged.save(tmp_path / "forged")
    for command in (("show",), ("certificate",), ("recommend", "--likes", catalogue.items[0], "-k", "3")):
        with pytest.raises(SystemExit) as ended:
            fuzz.parser().main([command[0], str(tmp_path / "forged"), *command[1:]], prog_name="discreet")
        out, err = capsys.readouterr()
        assert ended.value.code in (0, None), err
        assert not {"\x1b", "\x9b", "\u202e"} & set(out + err)
        assert not any(line.startswith(("  9", "proven:")) for line in out.splitlines())
    assert "\x1b" not in repr(forged.recommend(dc.History.of_likes(catalogue, [catalogue.items[0]]), k=2))


# ── What is declared ──


@pytest.mark.parametrize("name", every_kind())
def test_every_model_declares_its_arrays(home, name):
    model = dc.Release.load(home / name.replace(":", "-")).model
    assert isinstance(model, DeclaringModel)
    for array in model.declared(frozenset()):
        assert isinstance(array, Array)


def test_a_model_of_a_third_party_need_not_declare_anything(home):
    release = dc.Release.load(home / "third party", model=Neighbours)
    assert not isinstance(release.model, DeclaringModel)
    with pytest.raises(ReleaseError, match="which is not one of Discreet's"):
        dc.Release.load(home / "third party")


# ── The layout ──

NUMBERS = st.sampled_from(
    ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "float16", "float64"]
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.tuples(NUMBERS, st.lists(st.integers(0, 4), max_size=4))))
def test_arrays_come_back_as_they_were(tmp_path_factory, wanted):
    path = tmp_path_factory.mktemp("arrays") / "a"
    rng = np.random.default_rng(0)
    arrays = {name: rng.integers(0, 2, shape).astype(kind) for name, (kind, shape) in wanted.items()}
    try:
        write_arrays(path, arrays)
    except UnicodeEncodeError:  # a lone surrogate: no name of an array
        return
    checksum = fuzz.checksum(path)
    again = read_arrays(path, read_table(path), checksum)
    assert {name: (a.dtype, a.shape, a.tolist()) for name, a in again.items()} == {
        name: (a.dtype, a.shape, a.tolist()) for name, a in arrays.items()
    }


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_refused_in_a_sentence(tmp_path_factory, content, measured):
    path = tmp_path_factory.mktemp("arrays") / "a"
    path.write_bytes(len(content).to_bytes(8, "little") + content if measured else content)
    try:
        read_table(path)
    except ReleaseError as error:
        assert "\n" not in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.sampled_from(sorted(CARD.fields)))
def test_any_field_is_refused_in_a_sentence_or_is_of_its_kind(home, value, field):
    card = fuzz.card_of(home / "bias, private") | {field: value}
    try:
        check_kind(card, CARD, "card")
    except ReleaseError as error:
        assert str(error).startswith(f"card.{field}")


def test_the_official_library_reads_it(folder):
    safetensors = pytest.importorskip("safetensors.numpy")
    read = safetensors.load_file(folder / "arrays.safetensors")
    own = fuzz.members_of(folder)
    assert read.keys() == own.keys()
    for name, array in own.items():
        np.testing.assert_array_equal(array, read[name])


def test_text_is_kept_as_it_was(tmp_path):
    texts = np.array(["", "a", "zwölf", "日本", "𝄞"])
    write_arrays(tmp_path / "a", {"t": texts})
    found = read_arrays(tmp_path / "a", read_table(tmp_path / "a"), fuzz.checksum(tmp_path / "a"))
    assert strings(tmp_path, found, "t").tolist() == texts.tolist() and not found


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(InputError, match="is of complex64, which cannot be saved"):
        write_arrays(tmp_path / "a", {"x": np.zeros(2, np.complex64)})


def test_a_release_with_what_is_not_finite_is_not_written(tmp_path):
    release = dc.Popularity().fit(dc.NoPrivacy(fuzz.RATINGS))
    broken = dc.Release(
        release.model, {"counts": np.full(12, np.nan, np.float32)}, release.catalogue, release.guarantee
    )
    with pytest.raises(InputError, match="'counts' holds an entry that is not a finite number"):
        broken.save(tmp_path / "release")
    with pytest.raises(DiscreetError, match="Popularity computes what is no finite number from this release"):
        broken.recommend(dc.History.of_likes(release.catalogue, [release.catalogue.items[0]]))


def test_a_pipe_in_place_of_the_card_does_not_wait(folder):
    """A pipe in place of the card ends at once, also from outside."""
    (folder / "card.json").unlink()
    os.mkfifo(folder / "card.json")
    ended = subprocess.run(
        [sys.executable, "-m", "discreet", "show", str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2 and "card.json is a pipe, and should be a file" in ended.stderr


def test_the_choice_of_cases_is_the_same_each_time(home):
    first, second = ([case[:2] for case in cases(home, fields=3)] for _ in range(2))
    assert first == second and len(set(first)) == len(first)
