"""Keys and signatures: there and back, and everything that may be wrong with one."""

import base64
import json
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from discreet.errors import InputError
from discreet.privacy.signing import PublicKey, SigningKey


def test_keys_survive_the_file_and_the_secret_one_is_for_its_owner(tmp_path):
    key = SigningKey.new()
    public = key.save(tmp_path / "key")
    assert public == tmp_path / "key.pub"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert SigningKey.read(tmp_path / "key").public == PublicKey.read(public) == key.public
    assert key.public != SigningKey.new().public
    assert str(key.public).startswith("SHA256:") and repr(key) == f"SigningKey({key.public})"


def test_a_signature_is_that_of_the_library_itself():
    key = SigningKey.new()
    data = json.loads(key.sign(b"card"))
    assert data["algorithm"] == "ed25519"
    public = ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(data["public_key"]))
    public.verify(base64.b64decode(data["signature"]), b"card")  # raises if it is not


@pytest.mark.parametrize("taken", ["key", "key.pub"])
def test_a_key_is_never_replaced(tmp_path, taken):
    (tmp_path / taken).write_text("mine")
    with pytest.raises(InputError, match="exists, and a key is never replaced: name another file"):
        SigningKey.new().save(tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_unwritable(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="nothing was written"):
        SigningKey.new().save(tmp_path / "file" / "key")


def pem(key, encryption=None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


def test_keys_that_cannot_be_used_are_one_sentence_each(tmp_path):
    own, other = ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)
    path = tmp_path / "key"
    shown = own.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    other_shown = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for kind, content, sentence in (
        (SigningKey, None, f"there is no key {path}: `discreet keys {path}` makes one"),
        (PublicKey, None, f"there is no key {path}"),
        (SigningKey, b"nonsense", f"{path} is not a secret key in PEM, as `discreet keys` writes it"),
        (PublicKey, b"", f"{path} is not a public key in PEM, as `discreet keys` writes it"),
        (
            SigningKey,
            pem(own, BestAvailableEncryption(b"word")),
            f"{path} is encrypted: give a key without a password, as `discreet keys` makes",
        ),
        (SigningKey, pem(other), f"{path} is a key of another kind: signatures are by Ed25519"),
        (PublicKey, other_shown, f"{path} is a key of another kind: signatures are by Ed25519"),
        (SigningKey, shown, f"{path} is a public key: sign with the secret one"),
        (PublicKey, pem(own), f"{path} is a secret key: give the public one, which is written beside it as KEY.pub"),
    ):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError) as refused:
            kind.read(path)
        assert str(refused.value) == sentence
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        SigningKey.read(tmp_path)


def test_a_changed_content_or_signature_is_refused():
    key, other = SigningKey.new(), SigningKey.new()
    signature = key.sign(b"card")
    data = json.loads(signature)
    assert PublicKey.of_signature(signature, b"card") == key.public
    with pytest.raises(InputError, match="changed after it was signed"):
        PublicKey.of_signature(signature, b"cark")
    for change in (
        {"public_key": base64.b64encode(other.public.raw).decode()},
        {"public_key": base64.b64encode(b"short").decode()},
        {"signature": base64.b64encode(bytes(64)).decode()},
        {"signature": ""},
    ):
        with pytest.raises(InputError, match="changed after it was signed"):
            PublicKey.of_signature(json.dumps(data | change).encode(), b"card")
    for damaged in (b"", b"{}", b"[]", b"\xff", json.dumps(data | {"signature": "%"}).encode(), b'{"algorithm": 1}'):
        with pytest.raises(InputError, match="its signature is damaged"):
            PublicKey.of_signature(damaged, b"card")
    with pytest.raises(InputError, match="another algorithm"):
        PublicKey.of_signature(json.dumps(data | {"algorithm": "none"}).encode(), b"card")
