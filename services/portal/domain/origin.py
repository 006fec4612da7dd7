"""Only the portal's own pages may change anything (SES-07): a browser says which page asks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What the request says about the page that made it; None where it says nothing."""

    origin: str | None
    fetch_site: str | None  # Sec-Fetch-Site


def require_own_page(sender: Sender, origins: Collection[str]) -> None:
    """Refuse a request that another page made, or that does not say. Raises REASON_ORIGIN_REFUSED.

    A client that is no browser sends the Origin header as well: it is no secret, and a browser cannot forge it.
    """
    if sender.origin not in origins or sender.fetch_site not in (None, "same-origin"):
        raise Refusal(Reason.REASON_ORIGIN_REFUSED)
