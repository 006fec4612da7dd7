"""A development certificate authority and the server certificate of the edge, ECDSA P-256.

For one machine: the authority's key never leaves its folder, and of all host names it can vouch for
localhost alone (a name constraint says so).
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS: Final = 3650
# Browsers refuse longer ones.
SERVER_DAYS: Final = 397
RENEW_BEFORE_DAYS: Final = 30

_NAMES: Final[tuple[x509.GeneralName, ...]] = (
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("::1")),
)
# No address in here: BoringSSL (gRPC, Chromium) refuses a whole chain that constrains addresses.
_CONSTRAINTS: Final[tuple[x509.GeneralName, ...]] = (x509.DNSName("localhost"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Paths of PEM files."""

    authority: Path
    """Certificate to trust, for example with `curl --cacert`."""
    certificate: Path
    """Certificate of the server."""
    private_key: Path
    """Key of the server, mode 0600."""


def ensure_certificates(folder: Path, now: dt.datetime) -> Certificates:
    """Make the authority and the server certificate where they are missing, and renew the latter in its last month.

    folder: made with mode 0700. now: aware. The authority is kept as long as its files are there.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = Certificates(
        authority=folder / "ca.pem", certificate=folder / "server.pem", private_key=folder / "server.key"
    )
    authority_key = folder / "ca.key"
    if not (paths.authority.exists() and authority_key.exists()):
        key = ec.generate_private_key(ec.SECP256R1())
        _write_key(authority_key, key)
        _write(paths.authority, _pem(_authority(key, now)), 0o644)
        paths.certificate.unlink(missing_ok=True)
    if not paths.private_key.exists() or _expires_soon(paths.certificate, now):
        authority = x509.load_pem_x509_certificate(paths.authority.read_bytes())
        signer = serialization.load_pem_private_key(authority_key.read_bytes(), password=None)
        if not isinstance(signer, ec.EllipticCurvePrivateKey):
            raise TypeError("the authority's key must be an elliptic curve key")
        key = ec.generate_private_key(ec.SECP256R1())
        _write_key(paths.private_key, key)
        _write(paths.certificate, _pem(_server(key, authority, signer, now)), 0o644)
    return paths


def _expires_soon(certificate: Path, now: dt.datetime) -> bool:
    if not certificate.exists():
        return True
    end = x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    return end - now < dt.timedelta(days=RENEW_BEFORE_DAYS)


def _authority(key: ec.EllipticCurvePrivateKey, now: dt.datetime) -> x509.Certificate:
    name = _name("Canopy development authority")
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        _builder(name, name, key.public_key(), now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted_subtrees=list(_CONSTRAINTS), excluded_subtrees=None), True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    signer: ec.EllipticCurvePrivateKey,
    now: dt.datetime,
) -> x509.Certificate:
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        _builder(_name("localhost"), authority.subject, key.public_key(), now, SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_NAMES), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(identifier, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: dt.datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # A minute back, for a peer whose clock is a little behind.
        .not_valid_before(now - dt.timedelta(minutes=1))
        .not_valid_after(now + dt.timedelta(days=days))
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    form = serialization.PrivateFormat.PKCS8
    _write(path, key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()), 0o600)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
