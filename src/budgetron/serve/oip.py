"""The Open Inference Protocol, version 2 (KServe, Triton, Seldon): the same predictions under /v2."""

import asyncio
from importlib.metadata import version
from typing import Any

import numpy as np
from msgspec import Raw, Struct
from msgspec.json import encode
from starlette.responses import Response

from budgetron.records.table import Table
from budgetron.records.values import column_of
from budgetron.serve.predicting import predict, refuse_large
from budgetron.serve.problems import Problem
from budgetron.serve.requests import Request, as_json, body_of, document_of, query, refuse_media
from budgetron.serve.rows import JSON, Rows
from budgetron.serve.service import Service
from budgetron.serve.writer import Published

NUMBERS = (
    *("FP16", "FP32", "FP64", "BOOL"),
    *("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"),
)
Value = float | str | bool | None


class Tensor(Struct):
    """An input of a request."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Value | list[Value]]
    parameters: dict[str, Any] = {}


class Output(Struct):
    """An output that a request asks for."""

    name: str
    parameters: dict[str, Any] = {}


class Inference(Struct):
    """A request to infer."""

    inputs: list[Tensor]
    id: str | None = None
    outputs: list[Output] | None = None
    parameters: dict[str, Any] = {}


async def server(_: Service, request: Request) -> Response:
    """Describe the server."""
    query(request)
    return as_json({"name": "budgetron", "version": version("budgetron"), "extensions": ["learn"]})


async def live(_: Service, request: Request) -> Response:
    """Whether the process answers."""
    query(request)
    return as_json({"live": True})


async def ready(service: Service, request: Request) -> Response:
    """Whether all models learn and predict."""
    query(request)
    why = service.trouble()
    if why is not None:
        raise Problem("learning-stopped", why, ready=False)
    return as_json({"ready": True})


async def describe(_: Service, model: Any, request: Request) -> Response:
    """Describe the inputs and outputs of a model."""
    query(request)
    estimator, number = model.published
    inputs = [
        {"name": "x", "datatype": "FP64", "shape": [-1, int(getattr(estimator, "n_features_in_", -1))]}
    ]
    if number and estimator.encoding_ is not None:
        names = dict.fromkeys(name.partition("=")[0] for name in estimator.encoding_.columns)
        texts = {name.partition("=")[0] for name in estimator.encoding_.columns if "=" in name}
        inputs = [
            {"name": name, "datatype": "BYTES" if name in texts else "FP64", "shape": [-1]}
            for name in names
        ]
    outputs = [{"name": "predict", "datatype": _kind(model), "shape": [-1]}]
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        outputs.append({"name": "predict_proba", "datatype": "FP64", "shape": [-1, len(classes)]})
    found = {"name": model.name, "versions": [str(number)], "platform": "budgetron"}
    return as_json(found | {"inputs": inputs, "outputs": outputs})


async def model_ready(_: Service, model: Any, request: Request) -> Response:
    """Whether a model learns and predicts."""
    query(request)
    if model.trouble is not None:
        raise Problem("learning-stopped", model.trouble, ready=False)
    return as_json({"name": model.name, "ready": True})


async def infer(service: Service, model: Any, request: Request) -> Response:
    """Predict."""
    query(request)
    refuse_media(request)
    said: Inference = document_of(
        await body_of(request, service.limits, service.patience), Inference, service.limits
    )
    published = model.fitted()
    rows = _rows(said.inputs, service)
    refuse_large(published, rows, service.limits)
    answer = await asyncio.to_thread(_inferred, model.name, published, rows, said)
    service.counters.predictions[model.name] += len(rows)
    return Response(answer, media_type=JSON)


def _inferred(name: str, published: Published, rows: Rows, said: Inference) -> bytes:
    """The answer to a request."""
    found = predict(published, rows)
    outputs = [_output("predict", found["predictions"], [len(rows)])]
    if "probabilities" in found:
        flat = Raw(encode(found["probabilities"]).replace(b"],[", b",")[1:-1])  # one list of numbers
        outputs.append(
            {
                "name": "predict_proba",
                "datatype": "FP64",
                "shape": [len(rows), len(found["classes"])],
                "data": flat,
                "parameters": {"classes": ",".join(map(str, found["classes"]))},
            }
        )
    if said.outputs is not None:
        wanted = {output.name for output in said.outputs}
        if unknown := wanted - {output["name"] for output in outputs}:
            raise Problem("malformed", f"there is no output {min(unknown)[:100]!r}.")
        outputs = [output for output in outputs if output["name"] in wanted]
    answer: dict[str, Any] = {"model_name": name, "model_version": str(published.version)}
    return encode(answer | ({} if said.id is None else {"id": said.id}) | {"outputs": outputs})


def _rows(inputs: list[Tensor], service: Service) -> Rows:
    """One tensor of two dimensions, or one tensor for each column."""
    if not inputs:
        raise Problem("malformed", "inputs is empty, expected one tensor or more.")
    if len(inputs) > service.limits.columns:
        raise Problem("too-large", f"there may be {service.limits.columns} inputs, got {len(inputs)}.")
    columns = [_values(tensor) for tensor in inputs]
    [first] = inputs[:1]
    if len(inputs) == 1 and len(first.shape) == 2 and first.datatype != "BYTES":
        if first.shape[1] < 1 or first.shape[1] > service.limits.columns:
            raise Problem("malformed", f"{first.name[:50]!r} has {first.shape[1]} columns.")
        return Rows(np.array(columns[0], dtype=np.float64).reshape(first.shape), None)
    n = first.shape[0] if first.shape else 0
    for tensor in inputs:
        if tensor.shape not in ([n], [n, 1]):
            raise Problem("malformed", f"input {tensor.name[:50]!r} must have the shape [{n}] or [{n}, 1].")
    if len({tensor.name for tensor in inputs}) < len(inputs):
        raise Problem("malformed", "two inputs have the same name.")
    made = {t.name: column_of(values, t.name) for t, values in zip(inputs, columns, strict=True)}
    return Rows(Table(n, made).normal(), None)


def _values(tensor: Tensor) -> list[Any]:
    if tensor.datatype not in (*NUMBERS, "BYTES"):
        raise Problem("malformed", f"there is no datatype {tensor.datatype[:50]!r}.")
    flat: list[Any] = []
    for part in tensor.data:
        flat.extend(part if isinstance(part, list) else [part])
    if len(tensor.shape) > 2 or not flat or any(not 0 < n <= len(flat) for n in tensor.shape):
        raise Problem("malformed", f"input {tensor.name[:50]!r} has a shape that does not fit its data.")
    if int(np.prod(tensor.shape)) != len(flat):
        raise Problem(
            "malformed", f"input {tensor.name[:50]!r} has {len(flat)} values, not those of its shape."
        )
    texts = tensor.datatype == "BYTES"
    if any(value is not None and isinstance(value, str) != texts for value in flat):
        raise Problem("malformed", f"input {tensor.name[:50]!r} has values of another datatype.")
    return flat


def _output(name: str, values: list[Any], shape: list[int]) -> dict[str, Any]:
    kinds = {str: "BYTES", bool: "BOOL", int: "INT64", float: "FP64"}
    return {"name": name, "datatype": kinds[type(values[0])], "shape": shape, "data": values}


def _kind(model: Any) -> str:
    classes = getattr(model.published.estimator, "classes_", None)
    if classes is None or not len(classes):
        return "FP64"
    return {"U": "BYTES", "O": "BYTES", "b": "BOOL", "i": "INT64", "u": "INT64"}.get(
        classes.dtype.kind, "FP64"
    )
