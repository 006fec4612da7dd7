"""The development certificates: made once, renewed in time, private where they must be."""

from __future__ import annotations

import datetime as dt
import stat
from pathlib import Path

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from services.cli.stack.certificate import ensure_certificates

NOW = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)


def test_certificate_stands_for_localhost_and_is_signed_by_the_authority(tmp_path: Path) -> None:
    """MSH-11: whoever trusts the authority reaches the edge by name and by address."""
    made = ensure_certificates(tmp_path / "tls", NOW)
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())

    verifier = PolicyBuilder().store(Store([authority])).time(NOW).build_server_verifier(x509.DNSName("localhost"))
    assert verifier.verify(certificate, [])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_second_start_keeps_both(tmp_path: Path) -> None:
    """MSH-11: a browser that trusts the authority need not trust it again."""
    first = ensure_certificates(tmp_path, NOW)
    before = (first.authority.read_bytes(), first.certificate.read_bytes(), first.private_key.read_bytes())

    again = ensure_certificates(tmp_path, NOW + dt.timedelta(days=300))

    assert (again.authority.read_bytes(), again.certificate.read_bytes(), again.private_key.read_bytes()) == before


def test_server_certificate_is_renewed_in_its_last_month(tmp_path: Path) -> None:
    """MSH-11: an old home still starts, under the authority that is trusted already."""
    first = ensure_certificates(tmp_path, NOW)
    authority, certificate = first.authority.read_bytes(), first.certificate.read_bytes()

    again = ensure_certificates(tmp_path, NOW + dt.timedelta(days=370))

    assert again.authority.read_bytes() == authority
    assert again.certificate.read_bytes() != certificate


def test_keys_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    """MSH-11: no other user of the machine can act as the edge or the authority."""
    ensure_certificates(tmp_path / "tls", NOW)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tls").iterdir()}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "server.key": 0o600, "server.pem": 0o644}
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700
