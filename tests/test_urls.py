from __future__ import annotations

from collections.abc import Iterable

import pytest

from core.errors import InputError
from core.urls import address_allowed, check_base_url


def at(*addresses: str) -> object:
    def resolve(host: str, port: int) -> Iterable[str]:
        del host, port
        return addresses

    return resolve


def checked(url: str, *addresses: str, allow_private: bool = False) -> str:
    resolve = at(*addresses)
    return check_base_url(url, allow_private=allow_private, resolve=resolve)  # type: ignore[arg-type]


def test_a_public_https_address_is_returned_without_its_trailing_slash() -> None:
    assert checked(" https://api.example.com/v1/ ", "93.184.216.34") == "https://api.example.com/v1"


PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.0.0.5",
    "172.16.3.4",
    "192.168.1.1",
    "::1",
    "fd12:3456::1",
    "::ffff:10.0.0.5",
    "100.64.0.1",  # carrier-grade NAT, and private overlay networks
]
NEVER = [
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",  # 169.254.169.254 behind a NAT64 gateway
    "2002:a9fe:a9fe::1",  # the same as 6to4
    "0.0.0.0",  # noqa: S104  (a test of refusing it)
    "224.0.0.1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_need_permission(address: str) -> None:
    with pytest.raises(InputError, match="private or reserved"):
        checked("https://host.example/v1", address)
    assert address_allowed(address, allow_private=True)


@pytest.mark.parametrize("address", NEVER)
def test_metadata_and_link_local_addresses_are_never_allowed(address: str) -> None:
    assert not address_allowed(address, allow_private=False)
    assert not address_allowed(address, allow_private=True)


def test_one_bad_address_among_several_is_enough() -> None:
    with pytest.raises(InputError, match=r"10\.1\.1\.1"):
        checked("https://host.example", "93.184.216.34", "10.1.1.1")


def test_http_is_for_ones_own_machine() -> None:
    with pytest.raises(InputError, match="https://"):
        checked("http://host.example", "93.184.216.34")
    assert checked("http://localhost:8080/v1", "127.0.0.1", allow_private=True)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "is empty"),
        ("api.example.com/v1", "use https://"),
        ("ftp://host.example", "use https://"),
        ("file:///etc/passwd", "use https://"),
        ("https://user:pass@host.example", "user name"),
        ("https://host.example/v1?x=1", "query"),
        ("https://host.example/#x", "query or fragment"),
        ("https://", "names no host"),
        ("https://host.example:0", "names no host"),
        ("https://host.example:99999", "port"),
        ("https://host.example:x", "port"),
        ("https://[::1", "bracket"),
        ("https://ho st.example", "characters"),
        ("https://host.example\\@evil.example", "characters"),
        ("https://" + "a" * 3000, "length"),
    ],
)
def test_broken_urls_are_refused_with_what_is_wrong(url: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        checked(url, "93.184.216.34")


def test_a_name_that_cannot_be_resolved_is_refused() -> None:
    def nothing(host: str, port: int) -> Iterable[str]:
        raise OSError(host, port)

    with pytest.raises(InputError, match="not known"):
        check_base_url("https://host.example", resolve=nothing)
    with pytest.raises(InputError, match="not known"):
        checked("https://host.example")


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost"])
def test_the_systems_resolver_sees_through_odd_spellings_of_loopback(host: str) -> None:
    with pytest.raises(InputError, match="private or reserved"):
        check_base_url(f"https://{host}/v1")
