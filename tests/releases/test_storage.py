"""What a release promises is recomputed when it is read, and a signature is checked."""

import json

import pytest

import discreet as dc
from discreet.errors import InputError, ReleaseError
from discreet.privacy.signing import SigningKey
from discreet.releases.storage import signer_of

RATINGS = dc.synthetic(users=60, items=40, ratings=900, seed=1)
KEY, OTHER = SigningKey.new(), SigningKey.new()


@pytest.fixture(scope="module")
def private():
    return dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0)))


@pytest.fixture
def folder(private, tmp_path):
    private.save(tmp_path / "release", sign=KEY)
    return tmp_path / "release"


def changed(folder, change):
    path = folder / "card.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(card))


# ── What it promises ──


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda card: card["guarantee"]["proven"].update(epsilon=0.9), "its ledger adds up to epsilon 1"),
        (lambda card: card["guarantee"].update(unit=None), "a proven guarantee needs a unit"),
        (lambda card: card["guarantee"].update(seeded=True), "a proven guarantee needs a unit, noise that was not"),
        (lambda card: card["guarantee"].update(tuning="unpaid"), "settings that were not tuned for free"),
        (lambda card: card["ledger"][0].update(seeded=True), "noise in its ledger was seeded"),
        (lambda card: card["ledger"][0].update(times=3), "its ledger adds up to epsilon"),
        (lambda card: card["ledger"].pop(), "not covered by the ledger"),
        (lambda card: card["guarantee"].update(sentence="Proven: nothing is learned."), "in words than in numbers"),
        (lambda card: card["guarantee"].pop("sentence"), "is incomplete or damaged: card.guarantee has no 'sentence'"),
        (lambda card: card["guarantee"].update(exposed_to=[]), "in words than in numbers"),
    ],
)
def test_a_card_that_does_not_add_up_is_refused(folder, change, sentence):
    (folder / "card.sig").unlink()
    changed(folder, change)
    with pytest.raises(ReleaseError) as refused:
        dc.Release.load(folder)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_without_a_promise_nothing_has_to_add_up(tmp_path):
    dc.Bias().fit(dc.NoPrivacy(RATINGS)).save(tmp_path / "release")
    assert dc.Release.load(tmp_path / "release").guarantee.proven is None


# ── Who signed it ──


def test_a_signed_release_names_its_key(folder, tmp_path):
    assert signer_of(folder) == KEY.public
    assert dc.Release.load(folder).guarantee.proven is not None
    public = KEY.save(tmp_path / "key")
    for key in (KEY.public, public, str(public)):
        assert dc.Release.load(folder, key=key).guarantee.proven is not None
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.safetensors", "card.json", "card.sig"]


def test_another_key_and_no_signature_are_refused_where_a_key_is_asked_for(private, folder):
    with pytest.raises(ReleaseError, match=r"is signed by the key SHA256:.*, and it should be by SHA256:"):
        dc.Release.load(folder, key=OTHER.public)
    private.save(folder, replace=True)  # unsigned over signed: the old signature is gone
    assert signer_of(folder) is None and not (folder / "card.sig").exists()
    dc.Release.load(folder)
    with pytest.raises(ReleaseError, match="is not signed, and it should be by the key SHA256:"):
        dc.Release.load(folder, key=KEY.public)


def test_a_changed_card_is_refused_even_where_it_adds_up(folder):
    changed(folder, lambda card: card.update(note="Chosen by an expert."))
    with pytest.raises(ReleaseError, match=r"card\.json is not what was signed: it was changed after it was signed"):
        dc.Release.load(folder)


def test_changed_arrays_are_refused(folder):
    content = bytearray((folder / "arrays.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "arrays.safetensors").write_bytes(content)
    with pytest.raises(ReleaseError, match=r"arrays\.safetensors is missing or damaged"):
        dc.Release.load(folder, key=KEY.public)


def test_a_damaged_signature_is_refused(folder):
    (folder / "card.sig").write_text("{")
    with pytest.raises(ReleaseError, match="its signature is damaged"):
        dc.Release.load(folder)


def test_a_key_that_cannot_be_read_leaves_the_old_release(private, folder, tmp_path):
    with pytest.raises(InputError, match="there is no key"):
        private.save(folder, sign=tmp_path / "nowhere")
    assert signer_of(folder) == KEY.public
