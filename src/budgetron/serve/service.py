"""What all endpoints share."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from budgetron.serve.limits import Limits
from budgetron.serve.metrics import Counters
from budgetron.serve.requests import Patience
from budgetron.serve.served import ServedModels
from budgetron.serve.tokens import Tokens

if TYPE_CHECKING:  # a service without brokers does not import them
    from budgetron.serve.input import Input


@dataclass
class Service:
    """The models, who may use them, and what was done."""

    models: ServedModels
    tokens: Tokens
    limits: Limits
    counters: Counters = field(default_factory=Counters)
    patience: Patience = field(default_factory=Patience)
    inputs: list["Input"] = field(default_factory=list)  # threads that learn the messages of brokers

    def trouble(self) -> str | None:
        """Why the service is not ready."""
        troubles = [model.trouble for model in self.models.by_name.values()]
        troubles += [each.trouble for each in self.inputs]
        if not self.models.by_name:
            return self.models.why or "there are no models yet."
        return next((why for why in troubles if why is not None), None)
