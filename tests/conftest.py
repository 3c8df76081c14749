"""What every test relies on: nobody's keys, no network, and no deadline on a busy machine."""

from __future__ import annotations

import os

from hypothesis import settings

# A test that finds a real key would spend somebody's money; one that needs a key sets its own.
for name in [n for n in os.environ if n.endswith(("_API_KEY", "_API_TOKEN"))]:
    del os.environ[name]

# Examples are not timed: two cores are shared with whatever else runs.
settings.register_profile("playground", deadline=None)
settings.load_profile("playground")
