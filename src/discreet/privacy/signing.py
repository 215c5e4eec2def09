"""Signatures of what was released: whoever has the public key can tell that not a byte was changed since.

Ed25519 from ``cryptography``. A guarantee is recomputed from its ledger when a release is read, but a ledger that was
changed by hand adds up too; a signature is how that is noticed. It says who vouches for the card, not that it is true.
"""

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.doors import checked_methods
from discreet.errors import InputError

ALGORITHM = "ed25519"
PUBLIC_SUFFIX = ".pub"


@checked_methods
@dataclass(frozen=True)
class PublicKey:
    """Who signed: the key to check signatures with.

    Examples
    --------
    >>> key = SigningKey.new()
    >>> signature = key.sign(b"a card")
    >>> PublicKey.of_signature(signature, b"a card") == key.public
    True
    """

    raw: bytes

    @classmethod
    def read(cls, path: str | Path) -> "PublicKey":
        """Read the file that :meth:`SigningKey.save` wrote beside the secret one."""
        content = _content(Path(path))
        if b"PRIVATE KEY" in content:
            raise InputError(f"{path} is a secret key: give the public one, which is written beside it as KEY.pub")
        try:
            key = pem.load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            raise InputError(f"{path} is not a public key in PEM, as `discreet keys` writes it") from None
        if not isinstance(key, Ed25519PublicKey):
            raise InputError(f"{path} is a key of another kind: signatures are by Ed25519")
        return cls(key.public_bytes_raw())

    @classmethod
    def of_signature(cls, signature: bytes, content: bytes) -> "PublicKey":
        """Whose signature of exactly this content it is; raises if it is nobody's."""
        try:
            data: Any = json.loads(signature)
            known = data["algorithm"] == ALGORITHM
            raw = base64.b64decode(data["public_key"], validate=True)
            signed = base64.b64decode(data["signature"], validate=True)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("its signature is damaged") from None
        if not known:
            raise InputError(f"its signature is by another algorithm than {ALGORITHM}")
        try:
            Ed25519PublicKey.from_public_bytes(raw).verify(signed, content)
        except (ValueError, InvalidSignature):
            raise InputError("it was changed after it was signed") from None
        return cls(raw)

    @property
    def fingerprint(self) -> str:
        """Short enough to read out: SHA-256 of the key, in base64."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.raw).digest()).decode().rstrip("=")

    def __str__(self) -> str:
        return self.fingerprint


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class SigningKey:
    """A secret key to sign releases with. It is not encrypted: keep its file to yourself."""

    _key: Ed25519PrivateKey

    @classmethod
    def new(cls) -> "SigningKey":
        """A fresh key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: str | Path) -> "SigningKey":
        """Read a secret key in PEM."""
        content = _content(Path(path), f": `discreet keys {path}` makes one")
        if b"PUBLIC KEY" in content:
            raise InputError(f"{path} is a public key: sign with the secret one")
        try:
            key = pem.load_pem_private_key(content, password=None)
        except TypeError:
            raise InputError(f"{path} is encrypted: give a key without a password, as `discreet keys` makes") from None
        except (ValueError, UnsupportedAlgorithm):
            raise InputError(f"{path} is not a secret key in PEM, as `discreet keys` writes it") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError(f"{path} is a key of another kind: signatures are by Ed25519")
        return cls(key)

    def save(self, path: str | Path) -> Path:
        """Write the secret key, for its owner's eyes only, and the public one beside it; returns where that is."""
        path = Path(path)
        public = path.with_name(path.name + PUBLIC_SUFFIX)
        secret = self._key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
        shown = self._key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
        _write_new(public, shown, 0o644)
        try:
            _write_new(path, secret, 0o600)
        except BaseException:
            public.unlink(missing_ok=True)
            raise
        return public

    @property
    def public(self) -> PublicKey:
        """The key that others check with."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, content: bytes) -> bytes:
        """The signature of exactly this content, as a small JSON file that says whose it is."""
        data = {
            "algorithm": ALGORITHM,
            "public_key": base64.b64encode(self.public.raw).decode(),
            "signature": base64.b64encode(self._key.sign(content)).decode(),
        }
        return (json.dumps(data, indent=2) + "\n").encode()

    def __repr__(self) -> str:
        return f"SigningKey({self.public})"


def _content(path: Path, hint: str = "") -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(1 << 16)
    except FileNotFoundError:
        raise InputError(f"there is no key {path}{hint}") from None
    except OSError as error:
        raise InputError(f"the key {path} cannot be read: {error.strerror}") from None


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """A file that was not there before: a key that is replaced cannot be had back."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise InputError(f"{path} exists, and a key is never replaced: name another file") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; nothing was written") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}; nothing was written") from None
