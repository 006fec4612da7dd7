"""Only the portal's own pages may change anything (SES-07)."""

from __future__ import annotations

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.portal.domain.origin import Sender, require_own_page
from tests.mesh import refused

OWN = frozenset({"https://apply.example.gov", "https://localhost:8443"})


@pytest.mark.parametrize("fetch_site", [None, "same-origin"])
@pytest.mark.parametrize("origin", sorted(OWN))
def test_an_own_page_may_ask(origin: str, fetch_site: str | None) -> None:
    """SES-07: exactly the configured origins, with or without fetch metadata."""
    require_own_page(Sender(origin=origin, fetch_site=fetch_site), OWN)


@pytest.mark.parametrize(
    ("origin", "fetch_site"),
    [
        (None, None),
        (None, "same-origin"),
        ("null", None),
        ("https://evil.example", None),
        ("https://apply.example.gov.evil.example", None),
        ("http://apply.example.gov", None),
        ("https://apply.example.gov:444", None),
        ("https://APPLY.example.gov", None),
        ("https://apply.example.gov", "cross-site"),
        ("https://apply.example.gov", "same-site"),
        ("https://apply.example.gov", "none"),
        ("https://apply.example.gov", ""),
    ],
)
def test_any_other_page_is_refused(origin: str | None, fetch_site: str | None) -> None:
    """SES-07: a missing, null, foreign or nearly right origin, and a request that a browser calls cross-site."""
    with refused(Reason.REASON_ORIGIN_REFUSED):
        require_own_page(Sender(origin=origin, fetch_site=fetch_site), OWN)
