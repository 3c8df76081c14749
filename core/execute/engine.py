"""Which model, behind which provider, plays which role in a real run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.plan import ModelRole
from core.profiles import Profile
from core.providers.base import Provider


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its name at a provider; `profile` holds its prices, None where it has none."""

    provider: Provider
    name: str
    profile: Profile | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """The models of a run. `tuned` replaces them for single steps, by (role, step id).

    `scripted`: models are asked to write the reference answers (they may not be able to), so that
    what they write makes sense and two runs write the same. Without it they are held to the form of
    the answer by a schema, unless `by_schema` is off: then the prompt alone asks for the form.
    """

    name: str
    large: Model
    small: Model
    tuned: Mapping[tuple[ModelRole, str], Model] = field(default_factory=dict)
    scripted: bool = True
    by_schema: bool = True

    def model(self, role: ModelRole, step_id: str) -> Model:
        """Return the model that plays this role in this step."""
        plain = self.large if role == "large" else self.small
        return self.tuned.get((role, step_id), plain)

    async def aclose(self) -> None:
        """Close all providers, each once."""
        models = (self.large, self.small, *self.tuned.values())
        for provider in {id(m.provider): m.provider for m in models}.values():
            await provider.aclose()
