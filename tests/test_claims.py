"""What is claimed about latency, and what comes out here."""

from functools import cache

import pytest

from core import text
from core.claims import CLAIMS, Claim, Finding, findings
from core.profiles import setting
from core.text import LANGS


@cache
def rows() -> dict[str, Finding]:
    return {f.claim.id: f for f in findings(setting())}


NEAR = {
    "half_output_300": 0.05,
    "half_output_20": 0.05,
    "half_prompt_2k": 0.005,
    "half_prompt_50k": 0.03,
    "cached_150k": 0.05,
    "round_trip": 0.005,
    "serial_sum": 1e-9,
    "travel_first": 0.3,
    "four_bits": 0.05,
}
"""How near our figure comes to the claimed one."""

ELSEWHERE = {"cached_1k", "half_output"}
"""Claims our figures do not bear out; the table says why."""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.id)
def test_a_claim_has_words_and_a_source(claim: Claim) -> None:
    for lang in LANGS:
        assert text.text(lang, f"claim.{claim.id}.title")
        assert text.text(lang, rows()[claim.id].why)
    assert claim.source
    assert claim.low <= claim.high


def test_every_written_claim_is_in_the_table() -> None:
    written = {k.split(".")[1] for k in text.catalogue()["en"] if k.startswith("claim.")}
    assert written == set(rows())


@pytest.mark.parametrize("name", NEAR)
def test_figures_come_out_near_the_claimed_ones(name: str) -> None:
    found = rows()[name]
    assert found.here == pytest.approx(found.claim.low, abs=NEAR[name])


@pytest.mark.parametrize("name", ["travel_serial", "local_embedding", "drafting"])
def test_figures_come_out_in_the_claimed_range(name: str) -> None:
    found = rows()[name]
    assert found.claim.low <= found.here <= found.claim.high


def test_half_the_output_is_never_quite_half_the_time() -> None:
    shares = [rows()[n].here for n in ("half_output_20", "half_output_300", "half_output")]
    assert shares == sorted(shares)
    assert shares[-1] < 0.5


def test_half_the_prompt_saves_little_and_more_the_longer_it_is() -> None:
    shares = [rows()[n].here for n in ("half_prompt_2k", "half_prompt", "half_prompt_50k")]
    assert shares == sorted(shares)
    assert shares[0] > 0.0
    assert shares[-1] < 0.1


def test_every_claim_is_tested_here() -> None:
    ranges = {"travel_serial", "local_embedding", "drafting", "half_prompt"}
    assert set(NEAR) | ELSEWHERE | ranges == set(rows())


def test_a_slower_model_changes_what_comes_out() -> None:
    other = {f.claim.id: f.here for f in findings(setting(large="gpt-5.4-mini (none)"))}
    assert other["half_output_300"] != rows()["half_output_300"].here
    assert other["round_trip"] == pytest.approx(rows()["round_trip"].here)
