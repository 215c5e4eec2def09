"""A self-signed certificate, for servers that have no other one."""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import InputError, library_for, require
from discreet.files import write_whole

YEARS = 2
CERTIFICATE, KEY = "certificate.pem", "key.pem"


def make_certificate(folder: str | Path, hosts: Sequence[str] = ("localhost", "127.0.0.1")) -> tuple[Path, Path]:
    """Write a certificate for some hosts and its secret key; users are given the certificate, never the key.

    Examples
    --------
    >>> import tempfile
    >>> [path.name for path in make_certificate(tempfile.mkdtemp())]
    ['certificate.pem', 'key.pem']
    """
    with library_for("certificates"):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    require(len(hosts) > 0, "a certificate is for at least one host: name it")
    certificate, secret = Path(folder) / CERTIFICATE, Path(folder) / KEY
    for path in (certificate, secret):
        require(not path.exists(), f"{path} exists, and servers may be using it: name another folder")
    key = ec.generate_private_key(ec.SECP256R1())
    # A name of its own: of two trusted certificates with one name only one would be tried.
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"discreet {os.urandom(8).hex()}")])
    try:
        names = x509.SubjectAlternativeName([_name(host) for host in hosts])
    except ValueError as error:
        raise InputError(f"a host cannot be named in a certificate: {error}") from None
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # clocks differ
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_whole(secret, private, private=True)
    write_whole(certificate, made.public_bytes(serialization.Encoding.PEM))
    return certificate, secret


def _name(host: str):  # type: ignore[no-untyped-def]  # its type is in the library that is loaded on use
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
