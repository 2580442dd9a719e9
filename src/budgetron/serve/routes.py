"""The endpoints of /v1: each takes the service, the model and the request, and returns the answer."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins
from starlette.responses import Response, StreamingResponse

from budgetron._util.errors import DataError
from budgetron._util.label_rules import EXACT, meant
from budgetron.records.table import Table
from budgetron.serve.endpoints import BINARY, Endpoint, ModelEndpoint, of_a_model
from budgetron.serve.entries import KeptRow
from budgetron.serve.jobs import Job, Keep, Label, Learn, Published, Snapshot
from budgetron.serve.limits import Limits
from budgetron.serve.metrics import MEDIA as PROMETHEUS
from budgetron.serve.metrics import text
from budgetron.serve.predicting import are_few, predict, refuse_large, refuse_to_explain, said_beside
from budgetron.serve.problems import Problem
from budgetron.serve.requests import KEY, Request, as_json, body_of, digest_of, document_of, rows_of, whole
from budgetron.serve.rows import ARROW, DOCUMENTS, JSON, LINES, LONGEST_ID, NOT_EMPTY, OwnId, Rows, Whole
from budgetron.serve.rows import Label as LabelValue
from budgetron.serve.served import ServedModel
from budgetron.serve.service import Service
from budgetron.serve.settings import TASKS, Settings, named
from budgetron.serve.writer import SERVICE_KEY, LearnAnswer

LONGEST_WAIT = 30
CHANGES = ThreadPoolExecutor(Limits.models + 4, "changes")
"""The threads of changes: one of each model may have to wait long, and others need not wait for it."""
PAGE = 1000
"""Events of one answer."""
STREAM = "text/event-stream"
OCTETS = "application/octet-stream"
MSGPACK = "application/msgpack"
CHAIN = "Budgetron-Chain"
"""The header of a model file with the running digest of the log, for replicas."""
ROWS = {JSON: DOCUMENTS, LINES: str, ARROW: BINARY}


class PredictAnswer(TypedDict):
    """The predictions of a version, and for each row what else was asked for.

    ``probabilities`` are those of each class, ``novelty`` is how unlike the rows learned a row is, and
    ``ids`` are those of kept rows. A model with a coverage has ``sets`` of labels, the most probable first,
    which may be empty, or ``intervals``, whose ends are null as long as there is none.
    """

    version: Whole
    predictions: list[LabelValue]
    classes: NotRequired[list[LabelValue]]
    probabilities: NotRequired[list[list[float]]]
    sets: NotRequired[list[list[LabelValue]]]
    intervals: NotRequired[list[list[float | None]]]
    novelty: NotRequired[list[float]]
    explanations: NotRequired[list[dict[str, Any]]]
    ids: NotRequired[list[Whole | str]]


class Importance(TypedDict):
    """The share of a column in what a model has learned."""

    column: str
    share: float


@ModelEndpoint(
    "POST",
    of_a_model("predict"),
    role="read",
    query={"keep": ("0", "1"), "id": None, "explain": ("0", "1"), "novelty": ("0", "1")},
    body=ROWS,
    answer={JSON: PredictAnswer},
)
async def predict_rows(service: Service, model: ServedModel, request: Request) -> Response:
    """Predict rows, and explain or keep them if asked to."""
    query = request.query
    keep, explain, novelty = query["keep"] == "1", query["explain"] == "1", query["novelty"] == "1"
    if keep:
        service.tokens.check(request, "learn")
    body = await body_of(request)
    began = time.perf_counter()
    rows = await rows_of(request, body, labelled=False)
    if query["id"] is not None:
        rows = _named(rows, query["id"])
    if rows.ids is not None and not keep:
        service.tokens.check(request, "learn")
        keep = True
    published = model.fitted()
    refuse_large(published, rows, service.limits)
    if explain:
        refuse_to_explain(published, rows)
    predicted = partial(_predicted, model.born, published, rows, keep, explain, novelty)
    quick = are_few(published, rows) and not explain and not novelty
    answer = predicted() if quick else await asyncio.to_thread(predicted)
    service.counters.predictions[model.name] += len(rows)
    service.counters.predict_seconds.add(time.perf_counter() - began)
    if isinstance(answer, bytes):
        return Response(answer, media_type=JSON)
    answer.body = body
    return await answer_of(model, answer)


@ModelEndpoint(
    "POST",
    of_a_model("learn"),
    role="learn",
    query={"ack": ("durable", "received"), "label": "y"},
    headers=KEY,
    body=ROWS,
    answer={JSON: LearnAnswer},
    statuses={202: "The rows are in the queue; nothing is promised."},
)
async def learn(_: Service, model: ServedModel, request: Request) -> Response:
    """Learn rows."""
    media, label, key = request.media, request.query["label"], request.key
    body = await body_of(request)
    rows = await rows_of(request, body, labelled=True, label=label)
    digest = b"" if key is None else digest_of(b"learn", media.encode(), label.encode(), body)
    job = Learn(None, body, key, digest, rows=len(rows), media=media, label=label, parsed=rows)
    if request.query["ack"] == "received":
        model.submit(job)
        return as_json({"rows": len(rows)}, 202)
    return await answer_of(model, job)


class Labelled(Struct, forbid_unknown_fields=True):
    """The label of a kept row: by the id in the answer of predict, or by the one that the client gave."""

    id: int | OwnId
    y: LabelValue


@ModelEndpoint(
    "POST",
    of_a_model("label"),
    role="learn",
    headers=KEY,
    body={JSON: (Labelled, Annotated[list[Labelled], NOT_EMPTY])},
    answer={JSON: LearnAnswer},
)
async def label(_: Service, model: ServedModel, request: Request) -> Response:
    """Learn kept rows with their labels."""
    document, body = await document_of(request, Labelled | list[Labelled])
    labels, most = [document] if isinstance(document, Labelled) else document, request.limits.rows
    if not 1 <= len(labels) <= most:
        raise Problem("malformed", f"expected 1 to {most} labels, got {len(labels)}.")
    for i, each in enumerate(labels):
        if isinstance(each.id, int) and not 0 < each.id < EXACT:
            raise Problem("unknown-id", f"no row is kept under the id {each.id}.", row=i)
    digest = digest_of(b"label", body)
    key = request.key or SERVICE_KEY + digest.hex()  # so a repeated request gets the same answer
    pairs = [(each.id, each.y) for each in labels]
    return await answer_of(model, Label(None, body, key, digest, rows=len(pairs), labels=pairs))


@ModelEndpoint("GET", of_a_model("model"), role="read")
async def describe(_: Service, model: ServedModel, __: Request) -> Response:
    """Describe the model."""
    return as_json(await asyncio.to_thread(model.description))


@ModelEndpoint(
    "GET",
    of_a_model("model/file"),
    role="read",
    headers={"If-None-Match": str},
    answer={OCTETS: BINARY},
    statuses={304: "The client has this version."},
)
async def file(_: Service, model: ServedModel, request: Request) -> Response:
    """The model file, unless the client has it."""
    version = model.fitted().version
    known = request.headers.get("if-none-match", "")
    if f'"{version}"' in [tag.strip().removeprefix("W/") for tag in known.split(",")]:
        return Response(status_code=304, headers={"ETag": f'"{version}"'})
    content, version, chain = await asyncio.to_thread(model.file)
    name = f'attachment; filename="{model.name}.safetensors"'
    headers = {"ETag": f'"{version}"', "Content-Disposition": name}
    headers |= {} if chain is None else {CHAIN: chain.hex()}
    return Response(content, 200, headers, OCTETS)


@ModelEndpoint(
    "GET",
    of_a_model("log"),
    role="read",
    query={"after": 0, "wait": 0, "chain": None},
    answer={MSGPACK: BINARY},
)
async def log(_: Service, model: ServedModel, request: Request) -> Response:
    """The requests learned after a version, for replicas; waits for some if there are none."""
    after, wait, chain = (request.query[name] for name in ("after", "wait", "chain"))
    until = time.monotonic() + min(wait, LONGEST_WAIT)
    while model.published.version == after and time.monotonic() < until and not model.events.ended:
        await asyncio.sleep(0.05)
    try:
        digest = None if chain is None else bytes.fromhex(chain)
    except ValueError:
        raise Problem("malformed", "chain: expected hexadecimal digits.") from None
    end = model.published.version
    learned = await asyncio.to_thread(model.learned, after, digest)
    return Response(msgspec.msgpack.encode({"end": end, "requests": learned}), media_type=MSGPACK)


class ImportancesAnswer(TypedDict):
    """The columns from the most important, at most 100; ``other_columns`` is the share of the others."""

    version: Whole
    columns: list[Importance]
    other_columns: float


@ModelEndpoint("GET", of_a_model("importances"), role="read", answer={JSON: ImportancesAnswer})
async def importances_of(_: Service, model: ServedModel, __: Request) -> Response:
    """The share of each column in what the model has learned, from the rows that it keeps."""
    return as_json(await asyncio.to_thread(model.importances))


class CurveAnswer(TypedDict):
    """Precision and recall of a class, from the highest threshold down; at most 200 points."""

    label: LabelValue
    threshold: list[float]
    precision: list[float]
    recall: list[float]


@ModelEndpoint(
    "GET",
    of_a_model("curve"),
    role="read",
    query={"label": "", "over": ("running", "window")},
    answer={JSON: CurveAnswer},
)
async def curve(_: Service, model: ServedModel, request: Request) -> Response:
    """Precision and recall of a class for every threshold, over all rows or the last 1,000."""
    label, windowed = request.query["label"], request.query["over"] == "window"
    try:
        return as_json(await asyncio.to_thread(model.tally.curve, label, windowed))
    except ValueError as error:
        raise Problem("not-found", str(error)) from None


@ModelEndpoint("POST", of_a_model("snapshot"), role="admin")
async def snapshot(_: Service, model: ServedModel, __: Request) -> Response:
    """Save a snapshot now, and keep it."""
    return await answer_of(model, Snapshot())


class EventsAnswer(TypedDict):
    """Some events, oldest first; ``next`` is the ``after`` of the next page, None at the end."""

    events: list[dict[str, Any]]
    next: int | None


@ModelEndpoint(
    "GET",
    of_a_model("events"),
    role="read",
    query={"after": 0, "limit": PAGE, "what": None},
    headers={"Accept": str, "Last-Event-ID": str},
    answer={JSON: EventsAnswer, STREAM: str},
)
async def events(_: Service, model: ServedModel, request: Request) -> Response:
    """The events that are kept, after a number; or with Accept: text/event-stream new ones as they come.

    For the stream, ``after`` is a version.
    """
    if STREAM not in request.headers.get("accept", ""):
        after, most, what = (request.query[name] for name in ("after", "limit", "what"))
        most = max(1, min(most, PAGE))
        found = await asyncio.to_thread(model.history.events, after, most, what)
        following = found[-1]["number"] if len(found) == most else None
        return as_json(EventsAnswer(events=found, next=following))
    last = request.headers.get("last-event-id")
    after = whole(last, "Last-Event-ID") if last else request.query["after"]
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(await model.events.stream(after), 200, headers, STREAM)


@ModelEndpoint("GET", of_a_model("progress"), role="read", query={"after": 0})
async def progress(_: Service, model: ServedModel, request: Request) -> Response:
    """The points of the curves that are kept, after a version."""
    points = await asyncio.to_thread(model.history.points, request.query["after"])
    return Response(b'{"points":[' + b",".join(point for _, point in points) + b"]}", media_type=JSON)


@Endpoint("GET", ("/v1/models",), role="read", query={"figures": ("0", "1"), "logs": ("0", "1")})
async def models(service: Service, request: Request) -> Response:
    """List the models and their aliases; with their figures, or the ids of their logs, if asked for."""
    by_name = sorted(service.models.by_name.items())
    figures, logs = (request.query[name] == "1" for name in ("figures", "logs"))

    def known() -> list[dict[str, Any]]:
        found = [{"name": name} | model.summary(figures) for name, model in by_name]
        ids = [{"log_id": model.log_id} if logs else {} for _, model in by_name]
        return [each | log_id for each, log_id in zip(found, ids, strict=True)]

    listed = await asyncio.to_thread(known) if figures else known()
    return as_json({"models": listed, "aliases": to_builtins(service.models.aliases)})


class Cost(Struct, forbid_unknown_fields=True):
    """What a mistake in a row of a label costs, or only that of predicting another certain label."""

    label: LabelValue
    cost: Annotated[float, Meta(extra_json_schema={"minimum": 0})]
    predicted: LabelValue | UnsetType = UNSET


class NewLearner(Struct, forbid_unknown_fields=True):
    """What a new model learns with: an algorithm by name, or a learner described as in model files.

    ``encoder`` has parameters of the encoder, such as ``{"columns": {"zip": "category"}}``. ``costs`` are
    those of mistakes: ``{"fraud": 50}``, or a list. ``coverage`` is the share of answers that sets or
    intervals shall have.
    """

    algorithm: str | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    learner: dict[str, Any] | UnsetType = UNSET
    seed: Annotated[int, Meta(extra_json_schema={"minimum": 0})] = 0
    encoder: dict[str, Any] | UnsetType = UNSET
    costs: dict[str, float] | list[Cost] | UnsetType = UNSET
    coverage: float | UnsetType = UNSET

    def settings(self, task: str) -> Settings:
        """The settings of a model with that task."""
        coverage = None if self.coverage is UNSET else self.coverage
        return replace(self._learner(task), costs=self._costs(), coverage=coverage)

    def _costs(self) -> list[dict[str, Any]] | None:
        if self.costs is UNSET:
            return None
        if isinstance(self.costs, list):
            return [to_builtins(cost) for cost in self.costs]
        return [{"label": of, "cost": cost} for word, cost in self.costs.items() for of in meant(word)]

    def _learner(self, task: str) -> Settings:
        encoder = None if self.encoder is UNSET else {"type": "Encoder"} | self._encoder()
        if self.learner is not UNSET:
            if self.algorithm is not UNSET or self.parameters is not UNSET:
                raise Problem("malformed", "give a learner, or an algorithm and its parameters, not both.")
            return Settings(task, self.learner, self.seed, encoder)
        algorithm = "auto" if self.algorithm is UNSET else self.algorithm
        try:
            learner = named(algorithm, {} if self.parameters is UNSET else self.parameters)
            return replace(Settings.of(task, learner, self.seed), encoder=encoder)
        except (ValueError, TypeError) as error:
            raise Problem("malformed", str(error)) from None

    def _encoder(self) -> dict[str, Any]:
        """The parameters of the encoder; what columns are may be given as a plain object."""
        given: Any = self.encoder
        columns = given.get("columns")
        if isinstance(columns, dict) and columns.keys() != {"type", "of"}:
            return {**given, "columns": {"type": "dict", "of": columns}}
        return dict(given)


class NewModel(NewLearner):
    """A model to be created."""

    task: Annotated[str, Meta(extra_json_schema={"enum": TASKS})] = TASKS[0]


@Endpoint("PUT", ("/v1/models/{model}",), role="admin", body={JSON: NewModel}, status=201)
async def create(service: Service, request: Request) -> Response:
    """Create a model."""
    document, _ = await document_of(request, NewModel)
    name, settings = request.path_params["model"], document.settings(document.task)
    try:
        made = partial(service.models.create, name, settings)
        model = await asyncio.get_running_loop().run_in_executor(CHANGES, made)
    except (OSError, DataError) as error:
        raise Problem("learning-stopped", f"the model could not be created: {error}") from None
    return as_json(await asyncio.to_thread(model.description), 201)


@Endpoint("GET", ("/metrics",), role="read", answer={"text/plain": str})
async def metrics(service: Service, _: Request) -> Response:
    """All numbers, for Prometheus."""
    by_name = dict(service.models.by_name)
    numbers = await asyncio.to_thread(lambda: {name: model.numbers() for name, model in by_name.items()})
    return Response(text(service.counters, numbers), media_type=PROMETHEUS)


def _named(rows: Rows, name: str) -> Rows:
    """One row with the id of the client."""
    if len(rows) != 1 or rows.ids is not None:
        raise Problem("malformed", "the parameter id is for one row: give each of many rows a member id.")
    if not 1 <= len(name) <= LONGEST_ID:
        raise Problem("malformed", f"an id has 1 to {LONGEST_ID} characters.")
    return replace(rows, ids=[name])


async def answer_of(model: ServedModel, job: Job) -> Response:
    """Give a job to the writer and wait for its end."""
    job.future = future = asyncio.get_running_loop().create_future()
    model.submit(job)
    return Response(await future, media_type=JSON)


def _predicted(
    born: int, published: Published, rows: Rows, keep: bool, explain: bool, novelty: bool
) -> bytes | Keep:
    """The answer, in JSON; if rows are to be kept, the job that adds their ids."""
    answer, encode = predict(published, rows), msgspec.json.encode
    if explain or novelty:
        answer |= said_beside(published, rows, explain, novelty)
    if not keep:
        return encode(answer)
    if isinstance(rows.X, Table):
        raise Problem("malformed", "keep=1 and id take rows as objects or lists in JSON or NDJSON.")
    values = rows.X if isinstance(rows.X, list) else rows.X.tolist()
    names: Sequence[str | None] = rows.ids or [None] * len(rows)
    each = zip(values, answer["predictions"], names, strict=True)
    kept = [KeptRow(encode(x), encode([y, published.version, born]), name) for x, y, name in each]
    return Keep(rows=len(kept), kept_rows=kept, answer=answer)
