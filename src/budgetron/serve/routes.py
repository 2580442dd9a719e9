"""The endpoints of /v1: each takes the service, the model and the request, and returns the answer."""

import asyncio
import time
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response, StreamingResponse

from budgetron._util.errors import DataError
from budgetron._util.label_rules import EXACT
from budgetron.serve.entries import Kept
from budgetron.serve.metrics import MEDIA as PROMETHEUS
from budgetron.serve.metrics import text
from budgetron.serve.predicting import are_few, predict, refuse_large
from budgetron.serve.problems import Problem
from budgetron.serve.requests import (
    Request,
    as_json,
    body_of,
    choice,
    digest_of,
    document_of,
    key_of,
    media_of,
    query,
    refuse_media,
    rows_of,
    whole,
)
from budgetron.serve.rows import JSON, Rows
from budgetron.serve.rows import Label as LabelValue
from budgetron.serve.service import Service
from budgetron.serve.settings import Settings, named
from budgetron.serve.writer import OWN, Job, Keep, Label, Learn, Published, Snapshot

LONGEST_WAIT = 30
STREAM = "application/octet-stream"
MSGPACK = "application/msgpack"
CHAIN = "Budgetron-Chain"
"""The header of a model file with the running digest of the log, for replicas."""


async def learn(service: Service, model: Any, request: Request) -> Response:
    """Learn rows."""
    asked = query(request, "ack", "label")
    ack = choice(asked.get("ack", "durable"), "ack", "durable", "received")
    media, label, key = media_of(request), asked.get("label", "y"), key_of(request)
    body = await body_of(request, service.limits, service.patience)
    rows = await rows_of(media, body, service.limits, labelled=True, label=label)
    digest = b"" if key is None else digest_of(b"learn", media.encode(), label.encode(), body)
    job = Learn(None, body, key, digest, media=media, label=label, parsed=rows)
    if ack == "received":
        model.submit(job)
        return as_json({"rows": len(rows)}, 202)
    return Response(await _answer(model, job), media_type=JSON)


async def predict_rows(service: Service, model: Any, request: Request) -> Response:
    """Predict rows, and keep them if asked to."""
    asked = query(request, "keep")
    keep = choice(asked.get("keep", "0"), "keep", "0", "1") == "1"
    if keep:
        service.tokens.check(request, "learn")
    body = await body_of(request, service.limits, service.patience)
    began = time.perf_counter()
    rows = await rows_of(media_of(request), body, service.limits, labelled=False)
    published = model.fitted()
    refuse_large(published, rows, service.limits)
    if are_few(published, rows):
        found, kept, answer = _predicted(published, rows, keep)
    else:
        found, kept, answer = await asyncio.to_thread(_predicted, published, rows, keep)
    service.counters.predictions[model.name] += len(rows)
    service.counters.predict_seconds.add(time.perf_counter() - began)
    if not keep:
        return Response(answer, media_type=JSON)
    job = Keep(None, body, kept=kept, answer=found)
    return Response(await _answer(model, job), media_type=JSON)


class Labelled(Struct, forbid_unknown_fields=True):
    """The label of a kept row."""

    id: int
    y: LabelValue


async def label(service: Service, model: Any, request: Request) -> Response:
    """Learn kept rows with their labels."""
    query(request)
    refuse_media(request)
    body = await body_of(request, service.limits, service.patience)
    said = document_of(body, Labelled | list[Labelled], service.limits)
    labels = [said] if isinstance(said, Labelled) else said
    if not 1 <= len(labels) <= service.limits.rows:
        raise Problem("malformed", f"expected 1 to {service.limits.rows} labels, got {len(labels)}.")
    for i, each in enumerate(labels):
        if not 0 < each.id < EXACT:
            raise Problem("unknown-id", f"no row is kept under the id {each.id}.", row=i)
    digest = digest_of(b"label", body)
    key = key_of(request) or OWN + digest.hex()  # so a repeated request gets the same answer
    job = Label(None, body, key, digest, labels=[(each.id, each.y) for each in labels])
    return Response(await _answer(model, job), media_type=JSON)


async def describe(_: Service, model: Any, request: Request) -> Response:
    """Describe the model."""
    query(request)
    return as_json(await asyncio.to_thread(model.description))


async def file(_: Service, model: Any, request: Request) -> Response:
    """The model file, unless the client has it."""
    query(request)
    version = model.fitted().version
    known = request.headers.get("if-none-match", "")
    if f'"{version}"' in [tag.strip().removeprefix("W/") for tag in known.split(",")]:
        return Response(status_code=304, headers={"ETag": f'"{version}"'})
    content, version, chain = await asyncio.to_thread(model.file)
    name = f'attachment; filename="{model.name}.safetensors"'
    headers = {"ETag": f'"{version}"', "Content-Disposition": name}
    headers |= {} if chain is None else {CHAIN: chain.hex()}
    return Response(content, 200, headers, STREAM)


async def log(_: Service, model: Any, request: Request) -> Response:
    """The requests learned after a version; waits for some if there are none."""
    asked = query(request, "after", "wait", "chain")
    after, wait = whole(asked.get("after", "0"), "after"), whole(asked.get("wait", "0"), "wait")
    until = time.monotonic() + min(wait, LONGEST_WAIT)
    while model.published.version == after and time.monotonic() < until and not model.events.ended:
        await asyncio.sleep(0.05)
    try:
        chain = bytes.fromhex(asked["chain"]) if "chain" in asked else None
    except ValueError:
        raise Problem("malformed", "chain: expected hexadecimal digits.") from None
    end = model.published.version
    records = await asyncio.to_thread(model.records, after, chain)
    return Response(msgspec.msgpack.encode({"end": end, "records": records}), media_type=MSGPACK)


async def snapshot(_: Service, model: Any, request: Request) -> Response:
    """Save a snapshot now."""
    query(request)
    return Response(await _answer(model, Snapshot()), media_type=JSON)


async def events(_: Service, model: Any, request: Request) -> Response:
    """The events after a version."""
    asked = query(request, "after")
    after = whole(request.headers.get("last-event-id") or asked.get("after", "0"), "Last-Event-ID")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    stream = await model.events.stream(after)
    return StreamingResponse(stream, 200, headers, "text/event-stream")


async def models(service: Service, request: Request) -> Response:
    """List the models."""
    query(request)
    names = sorted(service.models.by_name)
    found = [{"name": name, "version": service.models.get(name).published.version} for name in names]
    return as_json({"models": found})


class Wanted(Struct, forbid_unknown_fields=True):
    """A model to be created: an algorithm by name, or a learner described as in model files."""

    task: str = "classification"
    algorithm: str | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    learner: dict[str, Any] | UnsetType = UNSET
    seed: int = 0

    def settings(self) -> Settings:
        """The settings of the model."""
        if self.learner is not UNSET:
            if self.algorithm is not UNSET or self.parameters is not UNSET:
                raise Problem("malformed", "give a learner, or an algorithm and its parameters, not both.")
            return Settings(self.task, self.learner, self.seed)
        algorithm = "auto" if self.algorithm is UNSET else self.algorithm
        try:
            learner = named(algorithm, {} if self.parameters is UNSET else self.parameters)
            return Settings.of(self.task, learner, self.seed)
        except (ValueError, TypeError) as error:
            raise Problem("malformed", str(error)) from None


async def create(service: Service, request: Request) -> Response:
    """Create a model."""
    query(request)
    refuse_media(request)
    name = request.path_params["model"]
    said = document_of(await body_of(request, service.limits, service.patience), Wanted, service.limits)
    try:
        model = await asyncio.to_thread(service.models.create, name, said.settings())
    except (OSError, DataError) as error:
        raise Problem("learning-stopped", f"the model could not be created: {error}") from None
    return as_json(await asyncio.to_thread(model.description), 201)


async def metrics(service: Service, request: Request) -> Response:
    """All numbers, for Prometheus."""
    query(request)
    by_name = dict(service.models.by_name)
    numbers = await asyncio.to_thread(lambda: {name: model.numbers() for name, model in by_name.items()})
    return Response(text(service.counters, numbers), media_type=PROMETHEUS)


async def _answer(model: Any, job: Job) -> bytes:
    """Give a job to the writer and wait for its end."""
    job.future = asyncio.get_running_loop().create_future()
    model.submit(job)
    return await job.future


def _predicted(published: Published, rows: Rows, keep: bool) -> tuple[dict[str, Any], list[Kept], bytes]:
    """The predictions; what is to be kept, or else the answer."""
    found = predict(published, rows)
    kept = _kept(rows, found["predictions"]) if keep else []
    return found, kept, b"" if keep else msgspec.json.encode(found)


def _kept(rows: Rows, predictions: list[Any]) -> list[Kept]:
    if not isinstance(rows.X, list) and not hasattr(rows.X, "tolist"):
        raise Problem("malformed", "keep=1 takes rows as objects or lists in JSON or NDJSON.")
    values = rows.X if isinstance(rows.X, list) else rows.X.tolist()
    encode = msgspec.json.encode
    return [Kept(encode(x), encode(said)) for x, said in zip(values, predictions, strict=True)]
