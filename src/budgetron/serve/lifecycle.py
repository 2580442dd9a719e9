"""The endpoints that change which models there are, what they learned and keep, and whom they tell."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, Struct, to_builtins
from starlette.responses import Response

from budgetron._util.errors import DataError
from budgetron.serve.changes import LeftOut
from budgetron.serve.endpoints import Endpoint, ModelEndpoint, of_a_model
from budgetron.serve.jobs import Advance, Replace
from budgetron.serve.problems import Problem
from budgetron.serve.requests import KEY, Request, as_json, digest_of, document_of
from budgetron.serve.retention import Wanted
from budgetron.serve.routes import CHANGES, NewLearner, answer_of
from budgetron.serve.rows import JSON
from budgetron.serve.served import ServedModel
from budgetron.serve.service import Service
from budgetron.serve.webhooks import Webhook, Webhooks

T = TypeVar("T")
MODEL, ALIAS = "/v1/models/{model}", "/v1/aliases/{alias}"


@Endpoint("DELETE", (MODEL,), role="admin")
async def delete(service: Service, request: Request) -> Response:
    """Delete a model with all that it learned."""
    name = request.path_params["model"]
    await _changed(partial(service.models.delete, name))
    return as_json({"deleted": name})


class NewName(Struct, forbid_unknown_fields=True):
    """The new name of a model."""

    to: str


@ModelEndpoint("POST", of_a_model("rename"), role="admin", body={JSON: NewName})
async def rename(service: Service, model: ServedModel, request: Request) -> Response:
    """Rename a model; its aliases stay its own."""
    document, _ = await document_of(request, NewName)
    await _changed(partial(service.models.rename, model.name, document.to))
    return as_json({"name": document.to})


@ModelEndpoint("POST", of_a_model("freeze"), role="admin")
async def freeze(_: Service, model: ServedModel, __: Request) -> Response:
    """Let a model only predict from now on."""
    await _changed(partial(model.freeze, True))
    try:
        await answer_of(model, Advance())  # behind all that may still be learned
    except Problem as problem:
        if problem.name != "learning-stopped":
            raise
    return as_json({"frozen": True, "version": model.published.version})


@ModelEndpoint("POST", of_a_model("thaw"), role="admin")
async def thaw(_: Service, model: ServedModel, __: Request) -> Response:
    """Let a frozen model learn again."""
    await _changed(partial(model.freeze, False))
    return as_json({"frozen": False, "version": model.published.version})


@ModelEndpoint("POST", of_a_model("reset"), role="admin", headers=KEY)
async def reset(_: Service, model: ServedModel, request: Request) -> Response:
    """Let a model begin again with nothing learned; what it was is kept as a snapshot."""
    change = partial(model.replacing, 0, False, [])
    job = Replace(None, key=request.key, digest=digest_of(b"reset"), change=change)
    return await answer_of(model, job)


class RollBack(Struct, forbid_unknown_fields=True):
    """To which snapshot, whether the rows since then are learned again, and which of them are not."""

    to: Annotated[int, Meta(ge=0, lt=2**53)]
    replay: bool = False
    leave_out: list[LeftOut] = []


@ModelEndpoint("POST", of_a_model("rollback"), role="admin", headers=KEY, body={JSON: RollBack})
async def roll_back(_: Service, model: ServedModel, request: Request) -> Response:
    """Let a model begin again as it was in a snapshot, and learn the rows since then, or some of them."""
    wanted, body = await document_of(request, RollBack)
    if wanted.leave_out and not wanted.replay:
        raise Problem("malformed", "leave_out is for rows that are replayed: give replay: true.")
    change = partial(model.replacing, wanted.to, wanted.replay, wanted.leave_out)
    job = Replace(None, key=request.key, digest=digest_of(b"rollback", body), change=change)
    return await answer_of(model, job)


@ModelEndpoint("GET", of_a_model("snapshots"), role="read")
async def snapshots(_: Service, model: ServedModel, __: Request) -> Response:
    """List the snapshots that are kept with their figures, and the roll-backs and resets in the log."""
    return as_json(await asyncio.to_thread(model.branches))


@ModelEndpoint("GET", of_a_model("retention"), role="read")
async def retention(_: Service, model: ServedModel, __: Request) -> Response:
    """The rows that are kept for labels, how many were dropped, and the limits."""
    return as_json(model.kept())


@ModelEndpoint("PUT", of_a_model("retention"), role="admin", body={JSON: Wanted})
async def retain(_: Service, model: ServedModel, request: Request) -> Response:
    """Set how many rows are kept for labels, their bytes, and for how many days."""
    wanted, __ = await document_of(request, Wanted)
    return as_json(await _changed(partial(model.retain, wanted)))


@ModelEndpoint("GET", of_a_model("webhooks"), role="admin")
async def webhooks(_: Service, model: ServedModel, __: Request) -> Response:
    """List the webhooks, and what troubles them."""
    return as_json({"webhooks": _webhooks(model).listed()})


@ModelEndpoint("PUT", of_a_model("webhooks/{webhook}"), role="admin", body={JSON: Webhook})
async def set_webhook(_: Service, model: ServedModel, request: Request) -> Response:
    """Send events to an address from now on; the answer has the secret that signs them."""
    document, __ = await document_of(request, Webhook)
    name = request.path_params["webhook"]
    return as_json(to_builtins(await _changed(partial(_webhooks(model).put, name, document))))


@ModelEndpoint("DELETE", of_a_model("webhooks/{webhook}"), role="admin")
async def remove_webhook(_: Service, model: ServedModel, request: Request) -> Response:
    """Send no more events to an address."""
    name = request.path_params["webhook"]
    await _changed(partial(_webhooks(model).remove, name))
    return as_json({"removed": name})


def _webhooks(model: ServedModel) -> Webhooks:
    webhooks = model.stream.webhooks
    if webhooks is None:
        raise Problem("read-only", "this is a replica: set webhooks at the leader.")
    return webhooks


class NewChallenger(NewLearner):
    """A challenger to be created, as a model is; it has the task of the model beside which it learns."""

    replay: bool = False


@ModelEndpoint(
    "PUT", of_a_model("challengers/{challenger}"), role="admin", body={JSON: NewChallenger}, status=201
)
async def challenge(service: Service, model: ServedModel, request: Request) -> Response:
    """Let one more model learn the same rows, from now on, or also those that the log has."""
    document, _ = await document_of(request, NewChallenger)
    name, stream = request.path_params["challenger"], model.stream
    chosen = document.settings(stream.settings.task)
    if document.encoder is UNSET:
        chosen = replace(chosen, encoder=stream.settings.encoder)
    chosen = chosen.deciding_like(
        stream.settings, costs=document.costs is UNSET, coverage=document.coverage is UNSET
    )
    change = partial(service.models.challenge, stream.name, name, chosen, document.replay)
    return as_json(await _changed(change), 201)


@ModelEndpoint("GET", of_a_model("comparison"), role="read")
async def comparison(_: Service, model: ServedModel, __: Request) -> Response:
    """Compare a model with its challengers: errors, log loss, time and memory by window, and tests."""
    return as_json(await asyncio.to_thread(model.comparison))


@Endpoint("GET", ("/v1/aliases",), role="read")
async def aliases(service: Service, _: Request) -> Response:
    """List the aliases."""
    return as_json({"aliases": to_builtins(service.models.aliases)})


class AliasOf(Struct, forbid_unknown_fields=True):
    """The model that an alias is for."""

    model: str


@Endpoint("PUT", (ALIAS,), role="admin", body={JSON: AliasOf})
async def set_alias(service: Service, request: Request) -> Response:
    """Let an alias be another name of a model; requests that come later find that model."""
    document, _ = await document_of(request, AliasOf)
    alias = request.path_params["alias"]
    await _changed(partial(service.models.alias, alias, document.model))
    return as_json({"alias": alias, "model": document.model})


@Endpoint("DELETE", (ALIAS,), role="admin")
async def remove_alias(service: Service, request: Request) -> Response:
    """Remove an alias; its model stays."""
    alias = request.path_params["alias"]
    await _changed(partial(service.models.alias, alias, None))
    return as_json({"removed": alias})


async def _changed(change: Callable[[], T]) -> T:
    """Make a change of the folder, in a thread, since it waits for the disk."""
    try:
        return await asyncio.get_running_loop().run_in_executor(CHANGES, change)
    except (OSError, DataError, sqlite3.Error) as error:
        raise Problem("learning-stopped", f"the folder could not be changed: {error}") from None
