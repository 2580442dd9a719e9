"""What all endpoints share."""

from dataclasses import dataclass, field
from typing import Any

from budgetron.serve.limits import Limits
from budgetron.serve.metrics import Counters
from budgetron.serve.requests import Patience
from budgetron.serve.tokens import Tokens


@dataclass
class Service:
    """The models, who may use them, and what was done."""

    models: Any
    tokens: Tokens
    limits: Limits
    counters: Counters = field(default_factory=Counters)
    patience: Patience = field(default_factory=Patience)
    inputs: list[Any] = field(default_factory=list)  # threads that learn the messages of brokers

    def trouble(self) -> str | None:
        """Why the service is not ready."""
        troubles = (each.trouble for each in (*self.models.by_name.values(), *self.inputs))
        if not self.models.by_name:
            return getattr(self.models, "why", None) or "there are no models yet."
        return next((why for why in troubles if why is not None), None)
