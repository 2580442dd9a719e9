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
from budgetron.serve.endpoints import Endpoint, ModelEndpoint
from budgetron.serve.jobs import Published
from budgetron.serve.predicting import predict, refuse_large
from budgetron.serve.problems import Problem
from budgetron.serve.requests import Request, as_json, document_of
from budgetron.serve.rows import JSON, Rows, Value
from budgetron.serve.served import ServedModel
from budgetron.serve.service import Service

NUMBERS = (
    *("FP16", "FP32", "FP64", "BOOL"),
    *("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"),
)
KINDS = {str: "BYTES", bool: "BOOL", int: "INT64", float: "FP64"}


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


def _paths(path: str = "") -> tuple[str, str]:
    """The paths of an endpoint, without and with a version, of which there is only the present one."""
    return f"/v2/models/{{model}}{path}", f"/v2/models/{{model}}/versions/{{version}}{path}"


@Endpoint("GET", ("/v2",))
async def server(_: Service, __: Request) -> Response:
    """Describe the server, in the Open Inference Protocol."""
    return as_json({"name": "budgetron", "version": version("budgetron"), "extensions": ["learn"]})


@Endpoint("GET", ("/v2/health/live",))
async def live(_: Service, __: Request) -> Response:
    """Whether the process answers."""
    return as_json({"live": True})


@Endpoint("GET", ("/v2/health/ready",))
async def ready(service: Service, _: Request) -> Response:
    """Whether all models learn and predict."""
    why = service.trouble()
    if why is not None:
        raise Problem("learning-stopped", why, ready=False)
    return as_json({"ready": True})


@ModelEndpoint("GET", _paths(), role="read")
async def describe(_: Service, model: ServedModel, __: Request) -> Response:
    """Describe the inputs and outputs of a model, in the Open Inference Protocol."""
    estimator, number = model.published
    inputs = [_tensor("x", "FP64", [-1, int(getattr(estimator, "n_features_in_", -1))])]
    if number and estimator.encoding_ is not None:
        columns = [column.partition("=") for column in estimator.encoding_.columns]
        datatypes = dict.fromkeys((name for name, _, _ in columns), "FP64")
        datatypes |= {name: "BYTES" for name, has_text, _ in columns if has_text}
        inputs = [_tensor(name, datatype, [-1]) for name, datatype in datatypes.items()]
    classes = getattr(estimator, "classes_", None)
    outputs = [_tensor("predict", _datatype(classes), [-1])]
    if classes is not None:
        outputs.append(_tensor("predict_proba", "FP64", [-1, len(classes)]))
    head = {"name": model.name, "versions": [str(number)], "platform": "budgetron"}
    return as_json(head | {"inputs": inputs, "outputs": outputs})


@ModelEndpoint("GET", _paths("/ready"))
async def model_ready(_: Service, model: ServedModel, __: Request) -> Response:
    """Whether a model learns and predicts."""
    if model.trouble is not None:
        raise Problem("learning-stopped", model.trouble, ready=False)
    return as_json({"name": model.name, "ready": True})


@ModelEndpoint("POST", _paths("/infer"), role="read", body={JSON: Inference})
async def infer(service: Service, model: ServedModel, request: Request) -> Response:
    """Predict, in the Open Inference Protocol."""
    inference, _ = await document_of(request, Inference)
    published = model.fitted()
    rows = _rows(inference.inputs, service)
    refuse_large(published, rows, service.limits)
    answer = await asyncio.to_thread(_inferred, model.name, published, rows, inference)
    service.counters.predictions[model.name] += len(rows)
    return Response(answer, media_type=JSON)


def _inferred(name: str, published: Published, rows: Rows, inference: Inference) -> bytes:
    """The answer to a request."""
    prediction = predict(published, rows)
    values = prediction["predictions"]
    outputs = [_tensor("predict", KINDS[type(values[0])], [len(rows)], data=values)]
    if "probabilities" in prediction:
        flat = Raw(encode(prediction["probabilities"]).replace(b"],[", b",")[1:-1])  # one list of numbers
        shape, names = [len(rows), len(prediction["classes"])], ",".join(map(str, prediction["classes"]))
        outputs.append(_tensor("predict_proba", "FP64", shape, data=flat, parameters={"classes": names}))
    if inference.outputs is not None:
        wanted = {output.name for output in inference.outputs}
        if unknown := wanted - {output["name"] for output in outputs}:
            raise Problem("malformed", f"there is no output {min(unknown)[:100]!r}.")
        outputs = [output for output in outputs if output["name"] in wanted]
    answer: dict[str, Any] = {"model_name": name, "model_version": str(published.version)}
    return encode(answer | ({} if inference.id is None else {"id": inference.id}) | {"outputs": outputs})


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
    named = {t.name: column_of(values, t.name) for t, values in zip(inputs, columns, strict=True)}
    return Rows(Table(n, named).normal(), None)


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


def _tensor(name: str, datatype: str, shape: list[int], **more: Any) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape} | more


def _datatype(classes: Any) -> str:
    kind = "f" if classes is None or not len(classes) else classes.dtype.kind
    return {"U": "BYTES", "O": "BYTES", "b": "BOOL", "i": "INT64", "u": "INT64"}.get(kind, "FP64")
