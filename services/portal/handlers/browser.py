"""What a browser sends beside the body, and the cookies it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from services.kernel.secret import Secret
from services.portal.domain.origin import Sender
from services.portal.domain.sessions import Minted

SESSION_COOKIE: Final = "__Host-sid"
DEVICE_COOKIE: Final = "__Host-did"

# Host-bound, never readable by scripts, never sent across sites, gone with the browser: no Domain, no Max-Age.
_ATTRIBUTES: Final = "; Path=/; Secure; HttpOnly; SameSite=Strict"
_NO_STORE: Final = ("cache-control", "no-store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """The headers of one request."""

    sender: Sender
    session: str | None  # raw session cookie
    device: str | None  # raw device cookie


def of(context: Any) -> Browser:
    """Read the headers of the call being served. Of a cookie that stands twice the first counts."""
    headers: dict[str, str] = {}
    cookies: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        if key == "cookie":
            for pair in value.split(";"):
                name, _, content = pair.strip().partition("=")
                cookies.setdefault(name, content)
        elif isinstance(value, str):
            headers.setdefault(key, value)
    return Browser(
        sender=Sender(origin=headers.get("origin"), fetch_site=headers.get("sec-fetch-site")),
        session=cookies.get(SESSION_COOKIE),
        device=cookies.get(DEVICE_COOKIE),
    )


async def set_cookies(context: Any, minted: Minted) -> None:
    """Give the browser its session and device."""
    await context.send_initial_metadata(
        (_NO_STORE, _cookie(SESSION_COOKIE, minted.token), _cookie(DEVICE_COOKIE, minted.device))
    )


async def clear_session(context: Any) -> None:
    """Take the session cookie away, and what the browser kept of the pages."""
    gone = f"{SESSION_COOKIE}={_ATTRIBUTES}; Max-Age=0"
    await context.send_initial_metadata((_NO_STORE, ("set-cookie", gone), ("clear-site-data", '"cache", "storage"')))


def _cookie(name: str, value: Secret[str]) -> tuple[str, str]:
    return "set-cookie", f"{name}={value.reveal()}{_ATTRIBUTES}"
