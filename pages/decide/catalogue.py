"""The catalogue: every technique, what it does by itself, and what is said about latency."""

from __future__ import annotations

import streamlit as st

from core.alone import SEED, N
from pages._ui import controls
from pages._ui.catalogue import claims, detail, listing
from pages._ui.lang import tr

find, choose = st.columns([3, 1], gap="medium", vertical_alignment="bottom")
with choose:
    chosen = listing.pick()
with find:
    if chosen is None:
        left = listing.filtered()
    else:
        detail.way_back()
with st.expander(tr("playground.setting")):
    setting, reader = controls.pick_setting()
if chosen is None:
    listing.draw(left, setting, reader)
else:
    detail.draw(chosen, setting, reader)
names = {"large": setting.large.name, "small": setting.small.name}
st.caption(tr("catalogue.basis", n=N, seed=SEED, **names))
if chosen is None:
    st.header(tr("catalogue.claims"), anchor="claims")
    st.markdown(tr("catalogue.claims_how"))
    claims.draw(setting)
