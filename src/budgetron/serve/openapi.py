"""The OpenAPI document, written by hand. A test compares it with the routes."""

from importlib.metadata import version
from typing import Any

from budgetron.serve.limits import Limits
from budgetron.serve.problems import MEDIA as PROBLEM
from budgetron.serve.problems import TITLES
from budgetron.serve.rows import ARROW, JSON, LINES

Said = dict[str, Any]

LABEL: Said = {"oneOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}]}
VALUE: Said = {"type": ["number", "string", "boolean", "null"]}
ROW: Said = {
    "type": "object",
    "required": ["x"],
    "additionalProperties": False,
    "properties": {
        "x": {
            "oneOf": [
                {"type": "object", "additionalProperties": VALUE},
                {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1},
            ]
        },
        "y": LABEL,
    },
}
TABLE: Said = {
    "type": "object",
    "required": ["columns", "x"],
    "additionalProperties": False,
    "properties": {
        "columns": {"type": "array", "items": {"type": "string"}},
        "x": {"type": "array", "items": {"type": "array", "items": VALUE}},
        "y": {"type": "array", "items": LABEL},
    },
}
ROWS: Said = {
    "anyOf": [
        {"$ref": "#/components/schemas/Row"},
        {"type": "array", "items": {"$ref": "#/components/schemas/Row"}, "minItems": 1},
        {
            "type": "object",
            "required": ["rows"],
            "properties": {"rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}}},
        },
        {"$ref": "#/components/schemas/Table"},
    ]
}
WHOLE: Said = {"type": "integer", "minimum": 0}


def document(limits: Limits) -> Said:
    """The description of all paths."""
    paths: Said = {}
    for prefix, more in (("/v1", []), ("/v1/models/{model}", [_path("model")])):
        for path, (method, said) in _of_a_model().items():
            paths[f"{prefix}/{path}"] = {"parameters": more, method: said} if more else {method: said}
    for path, (method, said) in _of_the_service().items():
        names = [name for name in ("model", "version") if f"{{{name}}}" in path]
        found = {"parameters": [_path(name) for name in names]} if names else {}
        paths[path] = found | {method: said}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "budgetron serve",
            "version": version("budgetron"),
            "description": f"Learn and predict at the same time. A body may have {limits.body} bytes and "
            f"{limits.rows} rows. Errors are problem documents (RFC 9457).",
        },
        "paths": paths,
        "components": {
            "schemas": {"Row": ROW, "Table": TABLE, "Problem": _problem()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _of_a_model() -> dict[str, tuple[str, Said]]:
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 255}}
    learned = {
        "type": "object",
        "required": ["first", "rows", "version", "predictions"],
        "properties": {"first": WHOLE, "rows": WHOLE, "version": WHOLE, "predictions": {"type": "array"}},
    }
    predicted = {
        "type": "object",
        "required": ["version", "predictions"],
        "properties": {
            "version": WHOLE,
            "predictions": {"type": "array"},
            "classes": {"type": "array"},
            "probabilities": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "ids": {"type": "array", "items": WHOLE},
        },
    }
    labelled = {
        "type": "object",
        "required": ["id", "y"],
        "additionalProperties": False,
        "properties": {"id": {"type": "integer"}, "y": LABEL},
    }
    ack = _query("ack", {"enum": ["durable", "received"]})
    learn = _said("Learn rows", learned, [ack, _query("label", {"type": "string"}), key], _bodies())
    learn["responses"]["202"] = {"description": "The rows are in the queue; nothing is promised."}
    file = _said("The model file", None, [], media="application/octet-stream")
    file["responses"]["304"] = {"description": "The client has this version."}
    return {
        "predict": (
            "post",
            _said("Predict rows", predicted, [_query("keep", {"enum": ["0", "1"]})], _bodies()),
        ),
        "learn": ("post", learn),
        "label": (
            "post",
            _said(
                "Learn kept rows with their labels",
                learned,
                [key],
                _json({"oneOf": [labelled, {"type": "array", "items": labelled, "minItems": 1}]}),
            ),
        ),
        "model": ("get", _said("Describe the model", {"type": "object"})),
        "model/file": ("get", file),
        "log": (
            "get",
            _said(
                "The requests learned after a version, for replicas",
                None,
                [_query("after", WHOLE), _query("wait", WHOLE), _query("chain", {"type": "string"})],
                media="application/msgpack",
            ),
        ),
        "snapshot": ("post", _said("Save a snapshot now", {"type": "object"})),
        "events": (
            "get",
            _said("Server-sent events", None, [_query("after", WHOLE)], media="text/event-stream"),
        ),
    }


def _of_the_service() -> dict[str, tuple[str, Said]]:
    wanted = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "task": {"enum": ["classification", "regression"]},
            "algorithm": {"type": "string"},
            "parameters": {"type": "object"},
            "learner": {"type": "object"},
            "seed": WHOLE,
        },
    }
    tensor = {
        "type": "object",
        "required": ["name", "shape", "datatype", "data"],
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer"}},
            "datatype": {"type": "string"},
            "data": {"type": "array"},
        },
    }
    inference = {
        "type": "object",
        "required": ["inputs"],
        "properties": {"id": {"type": "string"}, "inputs": {"type": "array", "items": tensor}},
    }
    create = _said("Create a model", {"type": "object"}, [], _json(wanted))
    create["responses"]["201"] = create["responses"].pop("200")
    plain = {"type": "object"}
    found: dict[str, tuple[str, Said]] = {
        "/v1/models": ("get", _said("List the models", plain)),
        "/v1/models/{model}": ("put", create),
        "/metrics": ("get", _said("Metrics for Prometheus", None, media="text/plain")),
        "/openapi.json": ("get", _said("This document", plain)),
        "/v2": ("get", _said("Open Inference Protocol: the server", plain)),
        "/v2/health/live": ("get", _said("Whether the process answers", plain)),
        "/v2/health/ready": ("get", _said("Whether all models learn and predict", plain)),
    }
    for path in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
        found[path] = ("get", _said("Open Inference Protocol: a model", plain))
        found[f"{path}/ready"] = ("get", _said("Whether a model learns and predicts", plain))
        found[f"{path}/infer"] = ("post", _said("Predict", plain, [], _json(inference)))
    return found


def _said(
    summary: str, schema: Said | None, parameters: Any = (), body: Said | None = None, media: str = JSON
) -> Said:
    content = {media: {} if schema is None else {"schema": schema}}
    problem = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    statuses = sorted({status for status, _ in TITLES.values() if status != 500})
    responses = {"200": {"description": summary, "content": content}}
    responses |= {str(status): {"description": _titles(status), "content": problem} for status in statuses}
    found: Said = {"summary": summary, "responses": responses}
    found |= {"parameters": list(parameters)} if parameters else {}
    return found | ({} if body is None else {"requestBody": {"required": True, "content": body}})


def _titles(status: int) -> str:
    return "; ".join(title for own, title in TITLES.values() if own == status)


def _problem() -> Said:
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "row": WHOLE,
        },
    }


def _bodies() -> Said:
    binary = {"schema": {"type": "string", "format": "binary"}}
    return _json(ROWS) | {LINES: {"schema": {"type": "string"}}, ARROW: binary}


def _json(schema: Said) -> Said:
    return {JSON: {"schema": schema}}


def _query(name: str, schema: Said) -> Said:
    return {"name": name, "in": "query", "schema": schema}


def _path(name: str) -> Said:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
