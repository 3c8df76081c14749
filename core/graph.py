"""A plan as a graph: what each step waits for and why, what is special about it, in data and words.

`core.graph_svg` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.plan import LlmStep, Plan, Policy, ShowStep, Speculate, Step, WorkStep
from core.timeline import State, Timeline, critical_path


@dataclass(frozen=True, slots=True)
class Run:
    """What became of each step for one request, its seconds, and which ones decide the end."""

    state: Mapping[str, State]
    seconds: Mapping[str, float]
    critical: tuple[str, ...]

    @classmethod
    def of(cls, timeline: Timeline, row: int = -1) -> Run:
        """Return the run of one row of a timeline."""
        ids = timeline.step_ids
        took = timeline.end_s[row] - timeline.start_s[row]
        return cls(
            {i: State(int(timeline.state[row, c])) for c, i in enumerate(ids)},
            {i: float(took[c]) for c, i in enumerate(ids)},
            critical_path(timeline, row % timeline.n),
        )


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a graph: labels of steps and of values by id, and everything else by key."""

    title: str
    steps: Mapping[str, str]
    texts: Mapping[str, str]

    def say(self, key: str, **args: object) -> str:
        """One text with its places filled."""
        return self.texts[key].format(**args)


@dataclass(frozen=True, slots=True)
class Link:
    """Why one step waits for another: data, a decision, or nothing but the program's order."""

    source: str
    target: str
    data: bool = True
    decides: bool = False
    streams: bool = False


def links(plan: Plan) -> tuple[Link, ...]:
    """Return what each step waits for, without what follows from the rest.

    A wait for data is left out where a chain of other data implies it, unless text streams along
    it; a wait for order where any other chain does. A guard it speculates on is no wait.
    """
    found: list[Link] = []
    for step in plan.steps:
        begins = plan.starts_after(step.id)
        needs = [n for n in plan.needs[step.id] if n in begins]
        for other in needs:
            streams = _streams(plan, other, step)
            implied = any(other in _data_before(plan, n) for n in needs if n != other)
            if streams or not implied:
                decides = _decides(plan, other, step)
                found.append(Link(other, step.id, decides=decides, streams=streams))
        found += [
            Link(other, step.id, data=False)
            for other in step.after
            if other not in needs and not any(other in plan.ancestors(b) for b in begins)
        ]
    return tuple(found)


def _data_before(plan: Plan, step_id: str) -> frozenset[str]:
    """All steps whose data reaches this one."""
    found: set[str] = set()
    stack = list(plan.needs[step_id])
    while stack:
        top = stack.pop()
        if top not in found:
            found.add(top)
            stack.extend(plan.needs[top])
    return frozenset(found)


def _decides(plan: Plan, source: str, step: Step) -> bool:
    """Whether all the step needs from the other is whether to run at all."""
    gates = step.gates if isinstance(step, ShowStep) else ()
    return not any(plan.producer.get(v) == source for v in (*step.reads, *gates))


def _streams(plan: Plan, source: str, step: Step) -> bool:
    """Whether the step works on the other's output while it is still being made."""
    other = plan.step(source)
    if isinstance(other, LlmStep):
        taken = set(other.gives) & set(step.reads)
        if not (other.stream and taken):
            return False
        if isinstance(step, ShowStep):
            return step.early or not step.gates
        return isinstance(step, WorkStep) and step.per_piece
    return isinstance(other, WorkStep) and other.per_piece and isinstance(step, ShowStep)


def described(plan: Plan, words: Words, run: Run | None = None) -> str:
    """Return the graph in sentences, one a step, for those who do not see it."""
    return " ".join(sentences(plan, words, run))


def sentences(plan: Plan, words: Words, run: Run | None = None) -> tuple[str, ...]:
    """One sentence a step: what it is, its marks, what it waits for."""
    found = []
    for number, step in enumerate(plan.steps, start=1):
        into = [e for e in links(plan) if e.target == step.id]
        facts = [words.steps[step.id], kind_name(step, words), *marks(plan, step, words)]
        for key, chosen in (
            ("after_data", [e for e in into if e.data]),
            ("after_order", [e for e in into if not e.data]),
        ):
            if chosen:
                names = ", ".join(words.steps[e.source] for e in chosen)
                facts.append(words.say(key, steps=names))
        if run is not None and step.id in run.critical:
            facts.append(words.say("critical"))
        found.append(f"{number}. {'; '.join(facts)}.")
    return tuple(found)


def kind_name(step: Step, words: Words) -> str:
    """Return what a step is, and on which model."""
    kind = words.say(f"kind_{step.kind}")
    return f"{kind} · {words.say(f'role_{step.role}')}" if isinstance(step, LlmStep) else kind


def marks(plan: Plan, step: Step, words: Words) -> tuple[str, ...]:
    """Return what is special about a step; a condition only where a chain first has it."""
    inherited = {w for other in _data_before(plan, step.id) for w in plan.step(other).when}
    found = [
        words.say("if_true" if w.is_true else "if_false", value=w.value)
        for w in step.when
        if w not in inherited
    ]
    if isinstance(step, LlmStep):
        on = {
            "small_if": step.small_if is not None,
            "streams": step.stream,
            "predicts": step.predict,
            "prompt_cache": step.prompt_cache,
            "tuned": step.price_x != 1.0,
            "stops": step.signature.stop is not None,
        }
        found += [words.say(key) for key, yes in on.items() if yes]
        if step.max_output_tok is not None:
            found.append(words.say("limited", n=step.max_output_tok))
    elif isinstance(step, WorkStep):
        found += [words.say(f"layer_{c.layer}") for c in step.layers]
        on = {"per_piece": step.per_piece, "scope": step.scope < 1.0}
        found += [words.say(key) for key, yes in on.items() if yes]
    elif step.early:
        found.append(words.say("early"))
    found += [_policy(policy, words) for policy in step.policies]
    if step.announce:
        found.append(words.say("announces"))
    return tuple(dict.fromkeys(found))


def _policy(policy: Policy, words: Words) -> str:
    guard = words.steps.get(policy.guard, policy.guard) if isinstance(policy, Speculate) else ""
    return words.say(f"policy_{type(policy).__name__.lower()}", step=guard)
