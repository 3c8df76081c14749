from __future__ import annotations

import importlib
import pkgutil

import pytest

import core.providers
from core.errors import InputError, Unavailable, UnknownName
from core.providers.base import Provider
from core.providers.catalogue import PROVIDERS, Choices, entry, ids, make
from core.providers.hosted import HostedProvider
from core.text import LANGS, text

KEY = "sk-test-0123456789"
HOSTED = ("openai", "openai-responses", "anthropic")


def endpoint_of(provider: Provider) -> tuple[str, str]:
    assert isinstance(provider, HostedProvider)
    return provider._endpoint.base_url, provider._endpoint.api_key


def test_ids_and_titles() -> None:
    assert ids() == ("openai", "openai-responses", "anthropic", "compatible", "local", "fake")
    for found in PROVIDERS:
        for lang in LANGS:
            assert text(lang, found.title)


def test_every_provider_module_is_in_the_catalogue() -> None:
    made = {type(make(name, Choices(api_key=KEY))) for name in HOSTED}
    made.add(type(make("compatible", Choices(base_url="http://127.0.0.1:1", own_machine=True))))
    made.add(type(make("fake")))
    classes = set()
    for module in pkgutil.iter_modules(core.providers.__path__, "core.providers."):
        loaded = importlib.import_module(module.name)
        for value in vars(loaded).values():
            ours = isinstance(value, type) and value.__module__ == module.name
            if ours and hasattr(value, "stream") and hasattr(value, "aclose"):
                classes.add(value)
    assert classes - made == {HostedProvider, Provider}


@pytest.mark.parametrize("name", HOSTED)
def test_hosted_providers_need_a_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match=entry(name).key_variable):
        make(name)
    monkeypatch.setenv(entry(name).key_variable, KEY)
    with pytest.raises(Unavailable, match=entry(name).key_variable):
        make(name)  # a hosted app does not pay for its visitors
    provider = make(name, Choices(own_machine=True))
    assert (endpoint_of(provider)[1], provider.name) == (KEY, name)


def test_a_key_stays_out_of_reprs() -> None:
    assert KEY not in repr(Choices(api_key=KEY))
    provider = make("openai", Choices(api_key=KEY))
    assert isinstance(provider, HostedProvider)
    assert KEY not in repr(provider._endpoint)


PUBLIC = "https://93.184.216.34/v1"


def test_a_visitors_address_never_gets_the_hosts_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    with pytest.raises(Unavailable):
        make("openai", Choices(base_url=PUBLIC))
    assert endpoint_of(make("compatible", Choices(base_url=PUBLIC))) == (PUBLIC, "none")
    assert endpoint_of(make("openai", Choices(base_url=PUBLIC, api_key="mine-1234")))[1] == (
        "mine-1234"
    )
    own = Choices(base_url=PUBLIC, own_machine=True)
    assert endpoint_of(make("compatible", own)) == (PUBLIC, KEY)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1", "https://10.0.0.1", "https://[::1]/v1"]
)
def test_private_addresses_are_for_ones_own_machine(url: str) -> None:
    with pytest.raises(InputError):
        make("compatible", Choices(base_url=url))
    provider = make("compatible", Choices(base_url=url, own_machine=True))
    assert endpoint_of(provider)[0] == url


def test_custom_addresses_are_judged_again_when_a_connection_is_made() -> None:
    provider = make("compatible", Choices(base_url=PUBLIC))
    assert isinstance(provider, HostedProvider)
    allowed = provider._endpoint.allowed
    assert allowed is not None
    assert allowed("93.184.216.34")
    assert not allowed("127.0.0.1")
    assert not allowed("169.254.169.254")


def test_a_scripted_endpoint_gets_no_key_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen = Choices(base_url="http://127.0.0.1:9/v1", own_machine=True, scripted=True)
    assert endpoint_of(make("openai", chosen))[1] == "none"


def test_what_cannot_be_made_says_why() -> None:
    with pytest.raises(UnknownName, match="did you mean 'openai'"):
        make("opneai")
    with pytest.raises(InputError, match="needs a base URL"):
        make("compatible")
    with pytest.raises(InputError, match="takes no base URL"):
        make("fake", Choices(base_url=PUBLIC))
