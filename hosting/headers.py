"""Security headers on every HTTP answer."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What a page may load and run. Streamlit's index has an inline script and inline styles; components
# are imported from blob: addresses, charts and icons are data: pictures. Nothing comes from another
# host, no page needs eval, and only pages of this host may show the app in a frame.
POLICY = (
    ("default-src", "'self'"),
    ("script-src", "'self' 'unsafe-inline' blob:"),
    ("style-src", "'self' 'unsafe-inline'"),
    ("img-src", "'self' data: blob:"),
    ("font-src", "'self' data:"),
    ("connect-src", "'self'"),
    ("worker-src", "'self' blob:"),
    ("media-src", "'self' data: blob:"),
    ("object-src", "'none'"),
    ("base-uri", "'self'"),
    ("form-action", "'self'"),
    ("frame-ancestors", "'self'"),
)

SECURITY_HEADERS = (
    ("Content-Security-Policy", "; ".join(" ".join(rule) for rule in POLICY)),
    ("X-Content-Type-Options", "nosniff"),
    # Addresses carry the scene somebody set up: not for other sites to read.
    ("Referrer-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)


class SecurityHeaders:
    """ASGI middleware that adds `SECURITY_HEADERS` where an answer does not set its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request. Sockets pass untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
