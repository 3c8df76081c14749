"""How it works: what real and perceived latency are, and where the figures come from."""

import streamlit as st

from core import profiles
from core.metrics import READING_EN_CPS, READING_KO_CPS
from pages._ui.lang import tr

SOURCES = ("models", "prices", "growth", "network", "services", "reading", "curves")

models, services = profiles.models().values(), profiles.services().values()
facts = {
    "en_cps": f"{READING_EN_CPS:g}",
    "ko_cps": f"{READING_KO_CPS:g}",
    "profiles": sum(not model.missing for model in models),
    "newest": max(model.source_date for model in models),
    "services": len(services),
    "assumed": sum(service.basis == "assumed" for service in services),
}

with st.container(width=760):
    for part in ("real", "perceived", "numbers"):
        st.header(tr(f"method.{part}"), anchor=part)
        st.markdown(tr(f"method.{part}_body", **facts))
    st.header(tr("method.sources"), anchor="sources")
    rows = "\n".join(
        f"| {tr(f'method.{row}')} | {tr(f'method.{row}_from', **facts)} |" for row in SOURCES
    )
    st.markdown(f"| {tr('method.what')} | {tr('method.where')} |\n|---|---|\n{rows}")
