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

    def trouble(self) -> str | None:
        """Why the service is not ready."""
        troubles = (model.trouble for model in self.models.by_name.values())
        if not self.models.by_name:
            return "there are no models yet."
        return next((why for why in troubles if why is not None), None)
