"""Which base URLs a visitor may send this server to.

A hosted app that fetches any URL it is given can be made to fetch the cloud's metadata service or
a neighbour inside the private network. So a custom base URL is resolved and every address behind
its name must be public. Two checks are needed: one when it is typed in (`check_base_url`), and one
on the address a connection really got (`address_allowed`, used by `core.providers.wire`), because a
name can resolve to something else the second time.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from urllib.parse import SplitResult, urlsplit

from core.errors import InputError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Iterable[str]]

NEVER = (
    ipaddress.ip_network("169.254.0.0/16"),  # link-local, and the metadata service of most clouds
    ipaddress.ip_network("fe80::/10"),  # link-local
    ipaddress.ip_network("fd00:ec2::/32"),  # metadata at AWS over IPv6
    ipaddress.ip_network("100.100.100.200/32"),  # metadata at Alibaba Cloud
    ipaddress.ip_network("168.63.129.16/32"),  # the host agent at Azure: a public-looking address
    ipaddress.ip_network("192.0.0.192/32"),  # metadata at Oracle Cloud
)
"""Networks in which no model server lives: refused also where private addresses are allowed."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LONGEST_URL = 2000


def check_base_url(url: str, *, allow_private: bool = False, resolve: Resolve | None = None) -> str:
    """Return the base URL without its trailing slash, or refuse it.

    `allow_private` admits `http` and private or loopback addresses: for an app on one's own
    machine, never for a hosted one. `resolve(host, port)` returns addresses as text; by default
    the system's resolver is asked, which may block for seconds.

    Raises: InputError naming the part at fault and what would be valid.
    """
    parts = _split(url.strip())
    if parts.scheme == "http" and not allow_private:
        raise InputError("the base URL starts with http: here only https:// is allowed")
    host, port = _host_and_port(parts)
    for text in _resolved(host, port, resolve or _system_resolve):
        if not address_allowed(text, allow_private=allow_private):
            raise InputError(
                f"the base URL's host {host!r} is at {text}, a private or reserved address: "
                "here only public hosts are allowed"
            )
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def address_allowed(text: str, *, allow_private: bool) -> bool:
    """Return whether a connection to this IP address may be made."""
    address = _unwrapped(ipaddress.ip_address(text.partition("%")[0]))
    if any(address in network for network in NEVER):
        return False
    if address.is_unspecified or address.is_multicast:
        return False
    return address.is_global or allow_private


def _unwrapped(address: Address) -> Address:
    """Return the IPv4 address an IPv6 address stands for, where it stands for one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
    if inner:
        return inner
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _split(url: str) -> SplitResult:
    """Return the URL's parts after the checks that need no network."""
    if not url:
        raise InputError("the base URL is empty: give one such as https://api.example.com/v1")
    if len(url) > _LONGEST_URL or not url.isascii() or any(c <= " " or c == "\\" for c in url):
        raise InputError("the base URL has characters or a length that no URL has")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError("the base URL cannot be read: is a bracket missing?") from None
    if parts.scheme not in {"https", "http"}:
        raise InputError(f"the base URL starts with {parts.scheme or 'no scheme'!r}: use https://")
    if "@" in parts.netloc:
        raise InputError("the base URL holds a user name or password: give the key by itself")
    if parts.query or parts.fragment:
        raise InputError("the base URL ends in a query or fragment: leave out what follows ? or #")
    return parts


def _host_and_port(parts: SplitResult) -> tuple[str, int]:
    try:
        port = parts.port
    except ValueError:
        raise InputError("the base URL's port is not a number from 1 to 65535") from None
    if not parts.hostname or port == 0:
        raise InputError("the base URL names no host: give one such as https://api.example.com/v1")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _resolved(host: str, port: int, resolve: Resolve) -> tuple[str, ...]:
    try:
        found = tuple(resolve(host, port))
    except (OSError, UnicodeError):
        found = ()
    if not found:
        raise InputError(f"the base URL's host {host!r} is not known: check its spelling")
    return found


def _system_resolve(host: str, port: int) -> Iterable[str]:
    return {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
