"""The OpenAPI document, made from the endpoints and the types of their bodies and answers."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from msgspec.json import schema_components
from starlette.responses import Response

from budgetron.serve.endpoints import ENDPOINTS, Endpoint
from budgetron.serve.limits import Limits
from budgetron.serve.problems import MEDIA as PROBLEM
from budgetron.serve.problems import TITLES, ProblemDocument
from budgetron.serve.requests import Default, Request, as_json
from budgetron.serve.service import Service

Json = dict[str, Any]
STATUSES = sorted({status for status, _ in TITLES.values() if status != 500})


@Endpoint("GET", ("/openapi.json",))
async def describe(service: Service, _: Request) -> Response:
    """Describe the service, in OpenAPI."""
    return as_json(document(service.limits))


@cache
def document(limits: Limits) -> Json:
    """The description of all paths."""
    schemas: Json = {}
    paths = dict[str, Json]()
    for each in ENDPOINTS:
        for path in each.paths:
            paths[path] = paths.get(path, {}) | _path(path, each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "budgetron serve",
            "version": version("budgetron"),
            "description": f"Learn and predict at the same time. A body may have {limits.body} bytes and "
            f"{limits.rows} rows. Errors are problem documents (RFC 9457).",
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _path(path: str, endpoint: Endpoint, schemas: Json) -> Json:
    names = re.findall(r"{(\w+)}", path)
    parameters = [_parameter("path", name, {"type": "string"}) | {"required": True} for name in names]
    operation = {endpoint.method.lower(): _operation(endpoint, schemas)}
    return {"parameters": parameters} | operation if parameters else operation


def _operation(endpoint: Endpoint, schemas: Json) -> Json:
    summary = (endpoint.handler.__doc__ or "").partition("\n")[0].rstrip(".")
    query, headers = endpoint.query, endpoint.headers
    parameters = [_parameter("query", name, _query(default)) for name, default in query.items()]
    parameters += [_parameter("header", name, _schema(kind, schemas)) for name, kind in headers.items()]
    operation: Json = {
        "summary": summary,
        "security": [{}, {"token": [endpoint.role]}] if endpoint.role else [],
        "responses": _responses(endpoint, summary, schemas),
    }
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body, schemas)}
    return operation


def _responses(endpoint: Endpoint, summary: str, schemas: Json) -> Json:
    problem = _content({PROBLEM: ProblemDocument}, schemas)
    good = {"description": summary, "content": _content(endpoint.answer, schemas)}
    responses: Json = {str(endpoint.status): good}
    responses |= {str(status): {"description": why} for status, why in endpoint.statuses.items()}
    return responses | {
        str(status): {"description": _titles(status), "content": problem} for status in STATUSES
    }


def _titles(status: int) -> str:
    return "; ".join(title for other, title in TITLES.values() if other == status)


def _parameter(place: str, name: str, schema: Json) -> Json:
    return {"name": name, "in": place, "schema": schema}


def _query(default: Default) -> Json:
    if isinstance(default, tuple):
        return {"enum": list(default), "default": default[0]}
    if isinstance(default, int):
        return {"type": "integer", "minimum": 0, "default": default}
    return {"type": "string"} | ({} if default is None else {"default": default})


def _content(kinds: Mapping[str, Any], schemas: Json) -> Json:
    return {media: {"schema": _schema(kind, schemas)} for media, kind in kinds.items()}


def _schema(kind: Any, schemas: Json) -> Json:
    """The schema of a type, or of one of several; those that have names are added to ``schemas``."""
    if isinstance(kind, tuple):
        return {"anyOf": [_schema(each, schemas) for each in kind]}
    (schema,), named = schema_components([kind], ref_template="#/components/schemas/{name}")
    schemas |= named
    return schema
