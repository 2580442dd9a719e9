"""An endpoint is described where its handler stands: `app` routes what is here, `openapi` describes it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from msgspec import Meta
from starlette.responses import Response

from budgetron.serve.models import DEFAULT
from budgetron.serve.problems import Problem
from budgetron.serve.requests import Default, Request, defaults_of, query_of
from budgetron.serve.rows import JSON
from budgetron.serve.service import Service
from budgetron.serve.tokens import refuse_foreign_origin

BINARY = Annotated[str, Meta(extra_json_schema={"format": "binary"})]
"""The type of a body that is no text."""
OBJECT: Mapping[str, Any] = {JSON: dict[str, Any]}

Handler = Callable[..., Awaitable[Response]]
H = TypeVar("H", bound=Handler)


@dataclass
class Endpoint:
    """Where a handler is, who may call it, what it takes and answers: a decorator of the handler.

    The handler gets the service and the request. The first sentence of its docstring is the summary.
    """

    method: str
    paths: tuple[str, ...]
    role: str = ""  # none: no token is needed
    query: Mapping[str, Default] = field(default_factory=dict)
    headers: Mapping[str, Any] = field(default_factory=dict)  # the type of each
    body: Mapping[str, Any] = field(default_factory=dict)  # by content type: the type, or several
    answer: Mapping[str, Any] = field(default_factory=lambda: OBJECT)  # likewise
    statuses: Mapping[int, str] = field(default_factory=dict)  # other answers that are no problems
    status: int = 200
    handler: Handler = field(init=False)

    def __post_init__(self) -> None:
        self._defaults = defaults_of(self.query)

    def __call__(self, handler: H) -> H:
        self.handler = handler
        ENDPOINTS.append(self)
        return handler

    async def respond(self, service: Service, request: Request) -> Response:
        """The answer of the handler; a `Problem` if the request is refused."""
        if request.method != self.method and not (request.method == "HEAD" and self.method == "GET"):
            detail = f"expected {self.method}, got {request.method[:20]}."
            raise Problem("method", detail, allow=self.method)
        if self.method != "GET":
            refuse_foreign_origin(request.headers)
        if self.role:
            service.tokens.check(request, self.role)
        return await self.call(service, request)

    def call(self, service: Service, request: Request) -> Awaitable[Response]:
        """Call the handler."""
        request.query = self._query_of(request)
        return self.handler(service, request)

    def _query_of(self, request: Request) -> Mapping[str, Any]:
        return query_of(request, self.query) if request.scope.get("query_string") else self._defaults


class ModelEndpoint(Endpoint):
    """An endpoint of a model, which the handler gets between the service and the request."""

    def call(self, service: Service, request: Request) -> Awaitable[Response]:
        """Find the model, and call the handler."""
        model = service.models.get(request.path_params.get("model", DEFAULT))
        request.model, request.query = model.name, self._query_of(request)
        return self.handler(service, model, request)


def of_a_model(path: str) -> tuple[str, str]:
    """The paths of an endpoint of /v1: for the model ``default``, and for any model by its name."""
    return f"/v1/{path}", f"/v1/models/{{model}}/{path}"


ENDPOINTS: list[Endpoint] = []
"""All endpoints, once the modules of their handlers are imported."""
