"""An engine that keeps exactly the time the simulator reckons with when nothing is left to chance.

It knows the plan and the setting, so each call takes what the profile says for its prompt: a new
connection where none is idle, the round trip, the first token, uncached tokens, the pace of the
tokens. What it does not know is when anything starts: that is what the executor decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from core import tokens
from core.counts import prompt_tok, shortened, static_tok
from core.durations import connect_s, rtt_s
from core.execute import Engine, Model
from core.plan import LlmStep, ModelRole, Plan
from core.profiles import (
    FAST_TIER_PRICE,
    FAST_TIER_SPEED,
    PER_1K_TOK_S,
    Profile,
    Setting,
)
from core.prompt import input_text
from core.providers.base import CallRequest, Chunk
from core.providers.fake import FakeProvider, Pace
from core.request import Request


@dataclass(frozen=True, slots=True)
class PacedProvider:
    """The model of one role in one step, answering one request."""

    plan: Plan
    setting: Setting
    step: LlmStep
    role: ModelRole
    request: Request

    @property
    def name(self) -> str:
        return "paced"

    async def stream(self, request: CallRequest) -> AsyncIterator[Chunk]:
        """What the fake provider says, with the prompt counted as the plan's readers count it."""
        counted = self._prompt_tok(request)
        cached = self._cached_tok(request, counted)
        fake = FakeProvider(self._pace(request, counted - cached, cached))
        async for chunk in fake.stream(request):
            if chunk.usage is not None:
                usage = replace(chunk.usage, tokens_in=counted, tokens_cached=cached)
                yield replace(chunk, usage=usage)
            else:
                yield chunk

    async def aclose(self) -> None:
        """Nothing to release."""

    def _prompt_tok(self, request: CallRequest) -> int:
        text = "\n\n".join(m.text for m in request.messages)
        absent = [
            i.value
            for i in self.step.signature.inputs
            if f"## {i.value}\n{input_text(i, self.request)}" not in text
        ]
        return prompt_tok(self.step.signature, self.request, frozenset(absent))

    def _cached_tok(self, request: CallRequest, counted: int) -> int:
        if request.cache_key is None:
            return 0
        rules = self.setting.model(self.step.role).caching
        static = min(static_tok(self.step.signature), counted)
        return static // rules.step_tok * rules.step_tok if static >= rules.minimum_tok else 0

    def _pace(self, request: CallRequest, uncached_tok: int, cached_tok: int) -> Pace:
        model = self.setting.model(self.role)
        travel_s = connect_s(self.plan, self.setting, self.step.id) + rtt_s(self.plan, self.setting)
        if model.law is not None:
            ratio = model.ratio(self.request.lang)
            u, h = uncached_tok * ratio.input, cached_tok * ratio.input
            text = shortened(request.scripted_text or "", request.max_tokens)
            out = float(max(tokens.count(text), 2))
            tpot_s = model.law.decode_s(u, h, out * ratio.output) / (out - 1)
            return Pace(travel_s + model.law.ttft_s(u, h), tpot_s)
        ttft_s = travel_s + model.ttft().median_s + PER_1K_TOK_S * uncached_tok / 1000
        speed = FAST_TIER_SPEED if self.plan.transport.fast_tier else 1.0
        return Pace(ttft_s, model.tpot().median_s / speed)


def paced(plan: Plan, setting: Setting, request: Request) -> Engine:
    """An engine for this plan, setting and request."""

    def model(step: LlmStep, role: ModelRole) -> Model:
        profile = setting.model(role)
        provider = PacedProvider(plan, setting, step, role, request)
        return Model(provider, profile.name, _billed(plan, profile))

    roles: tuple[ModelRole, ModelRole] = ("large", "small")
    tuned = {(role, step.id): model(step, role) for step in plan.llm_steps for role in roles}
    nobody = Model(FakeProvider(Pace(0.0, 0.0)), "none")
    return Engine("paced", nobody, nobody, tuned)


def _billed(plan: Plan, model: Profile) -> Profile:
    """The profile with the prices of the plan's service tier."""
    factor = FAST_TIER_PRICE if plan.transport.fast_tier else 1.0

    def dearer(price: float | None) -> float | None:
        return None if price is None else factor * price

    return replace(
        model,
        input_price=dearer(model.input_price),
        cached_price=dearer(model.cached_price),
        output_price=dearer(model.output_price),
    )
