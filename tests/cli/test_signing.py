"""Releases that are signed on request, and certificates that say by whom."""

import json

import pytest

import discreet as dc

PRIVATE = ("--scale", "1:5", "--epsilon", 1)


@pytest.fixture
def keys(discreet, tmp_path):
    made = {}
    for name in ("ours", "theirs"):
        outcome = discreet("keys", tmp_path / name, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        made[name] = json.loads(outcome.out)
    return made


@pytest.fixture
def signed(discreet, table, items, keys, tmp_path):
    fitted = discreet(
        "fit",
        "bias",
        table,
        "--items",
        items,
        "--items-public",
        *PRIVATE,
        "-o",
        tmp_path / "release",
        "--sign",
        keys["ours"]["key"],
    )
    assert fitted.code == 0, fitted.err
    return tmp_path / "release"


def test_keys_say_where_they_are_and_are_never_replaced(discreet, tmp_path):
    made = discreet("keys", tmp_path / "key")
    assert made.code == 0
    assert f"{tmp_path / 'key'} is the secret key, {tmp_path / 'key.pub'} the public one: SHA256:" in made.out
    before = (tmp_path / "key").read_bytes()
    refused = discreet("keys", tmp_path / "key")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert (tmp_path / "key").read_bytes() == before


def test_a_certificate_says_who_signed(discreet, signed, keys, table, tmp_path):
    assert f"the key {keys['ours']['fingerprint']}" in discreet("certificate", signed).out
    shown = discreet("certificate", signed, "--key", keys["ours"]["public"], "--json")
    assert json.loads(shown.out)["signed_by"] == keys["ours"]["fingerprint"]
    other = discreet("certificate", signed, "--key", keys["theirs"]["public"])
    assert (other.code, other.out, other.err.count("\n")) == (2, "", 1)
    assert keys["theirs"]["fingerprint"] in other.err


def test_an_unsigned_release_says_so(discreet, release, keys):
    assert "nobody: not signed" in discreet("certificate", release).out
    assert json.loads(discreet("certificate", release, "--json").out)["signed_by"] is None
    refused = discreet("certificate", release, "--key", keys["ours"]["public"])
    assert refused.code == 2 and "is not signed, and it should be by the key SHA256:" in refused.err


def test_a_release_without_privacy_can_be_signed_too(discreet, table, keys, tmp_path):
    how = ("--scale", "1:5", "-o", tmp_path / "open", "--sign", keys["ours"]["key"])
    assert discreet("fit", "popularity", table, *how).code == 0
    assert discreet("certificate", tmp_path / "open", "--key", keys["ours"]["public"]).code == 0


@pytest.mark.parametrize("name", ["card.json", "arrays.safetensors", "card.sig"])
def test_one_changed_byte_is_refused(discreet, signed, name):
    content = bytearray((signed / name).read_bytes())
    content[len(content) // 2] ^= 1
    (signed / name).write_bytes(content)
    for command in ("certificate", "show"):
        refused = discreet(command, signed)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)


def test_a_key_that_cannot_be_read_is_found_before_anything_is_spent(discreet, table, items, keys, tmp_path):
    for key in (tmp_path / "nowhere", keys["ours"]["public"]):
        how = (*PRIVATE, "-o", tmp_path / "release", "--sign", key)
        refused = discreet("fit", "bias", table, "--items", items, "--items-public", *how)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "release").exists()
    assert json.loads(discreet("budget", table, "--json").out)["spendings"] == []


def test_a_card_whose_epsilon_was_lowered_by_hand_is_refused(discreet, signed):
    (signed / "card.sig").unlink()
    card = json.loads((signed / "card.json").read_text())
    card["guarantee"]["proven"]["epsilon"] = 0.1
    card["guarantee"]["sentence"] = str(dc.Guarantee.from_json(card["guarantee"]))
    (signed / "card.json").write_text(json.dumps(card))
    for command in (("certificate",), ("show",), ("recommend", "--likes", "1")):
        refused = discreet(command[0], signed, *command[1:])
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert "the promise is false" in refused.err
