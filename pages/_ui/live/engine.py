"""Which engine a page measures, with which models, at which address, with whose key."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.engines import DEFAULT_MODELS, ENGINES, Target
from core.local.models import State, listing
from core.profiles import models
from core.providers.catalogue import Entry, entry
from pages._ui.address import keep_choice
from pages._ui.choosing import one_of
from pages._ui.lang import tr
from pages._ui.live import keys, provision
from pages._ui.live.hosted import hosted

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Picked:
    """The engine as picked; `lacks` is the text that says what is missing, None when it can run."""

    engine: str
    target: Target | None
    lacks: str | None

    @property
    def ready(self) -> bool:
        """Whether it can be asked now."""
        return self.target is not None and self.lacks is None


def offered() -> tuple[str, ...]:
    """Return the engines of this server: strangers give no addresses."""
    return tuple(name for name in ENGINES if not (hosted() and name == "compatible"))


def title(engine: str) -> str:
    """Return the engine's name in the reader's language."""
    own = engine == "emulator"
    return tr("live.engine.emulator") if own else tr(f"provider.title.{engine.replace('-', '_')}")


def pick(*, writes: bool = True) -> Picked:
    """Draw the choice of engine and what it needs; `writes`: also what its models write."""
    names = offered()
    keep_choice("engine", names, default=names[0])
    engine = str(st.selectbox(tr("live.engine.label"), names, key="engine", format_func=title))
    st.caption(tr(f"live.engine.about_{engine.replace('-', '_')}"))
    if hosted():
        st.caption(tr("live.engine.hosted"))
    if engine == "local":
        return _local(scripted=not writes or _scripted())
    if engine == "emulator":
        return Picked(engine, Target(engine, "", "", scripted=not writes or _scripted()), None)
    return _api(entry(engine), writes=writes)


def _scripted() -> bool:
    """Whether the reference answers are to be written."""
    chosen = one_of(
        "text",
        ("scripted", "free"),
        tr("live.text.label"),
        lambda t: tr(f"live.text.{t}"),
        about=tr("live.text.help"),
    )
    return chosen == "scripted"


def _local(*, scripted: bool) -> Picked:
    provision.draw()
    here = all(state.state is State.READY for state in listing())
    lacks = None if here else tr("live.lacks.models")
    large, small = DEFAULT_MODELS["local"]
    return Picked("local", Target("local", large, small, scripted=scripted), lacks)


def _api(chosen: Entry, *, writes: bool) -> Picked:
    large, small = (_model(chosen.id, role) for role in ("large", "small"))
    url = _base_url(chosen)
    key = keys.draw(chosen)
    if writes:
        st.caption(tr("live.text.own_words"))
    if not large or not small:
        return Picked(chosen.id, None, tr("live.lacks.names"))
    if chosen.base_url is None and url is None:
        return Picked(chosen.id, None, tr("live.lacks.url"))
    lacks = None
    if key.source == "none" and not chosen.key_optional:
        lacks = tr("live.lacks.key")
    target = Target(
        chosen.id,
        large,
        small,
        base_url=url,
        api_key=key.value,
        own_machine=not hosted(),
        scripted=False,
    )
    return Picked(chosen.id, target, lacks)


def _model(engine: str, role: str) -> str:
    """Return the name of the model in a role: one of the known ones, or any other."""
    known = _known(engine)
    default = DEFAULT_MODELS.get(engine, ("", ""))[role == "small"]
    # The playground's own `large` and `small` name profiles; here a name is what an API takes.
    named = st.text_input(
        tr(f"live.model.{role}"),
        value=default,
        key=f"{engine}_{role}",
        max_chars=LONGEST_NAME,
        bind="query-params",
        placeholder=tr("live.model.placeholder"),
        help=tr("live.model.known", names=", ".join(known)) if known else None,
    )
    return str(named).strip()


def _known(engine: str) -> tuple[str, ...]:
    """Return the vendor's models that still answer, named with their effort."""
    vendor = engine.removesuffix("-responses")
    return tuple(p.name for p in models().values() if p.provider == vendor and not p.retired)


def _base_url(chosen: Entry) -> str | None:
    """Return another address than the vendor's own, where a visitor may give one."""
    if hosted() or not chosen.takes_url:
        return None
    own = st.text_input(
        tr("live.url.label"),
        key=f"{chosen.id}_url",
        placeholder=chosen.base_url or "http://localhost:11434/v1",
        help=tr("live.url.help"),
    )
    return str(own).strip() or None
