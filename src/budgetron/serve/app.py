"""The application: paths, roles and errors; and the process that serves it."""

import asyncio
import logging
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from budgetron.serve import connections, lifecycle, oip, openapi, routes  # noqa: F401 they fill ENDPOINTS
from budgetron.serve.endpoints import ENDPOINTS, Endpoint
from budgetron.serve.problems import Problem
from budgetron.serve.requests import Request, as_problem
from budgetron.serve.service import Service

report = logging.getLogger("budgetron.serve")

PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/uplot.css": ("uplot.css", "text/css; charset=utf-8"),
    "/favicon.ico": ("favicon.svg", "image/svg+xml"),
}
SCRIPTS = [
    "uplot",
    "page",
    "stream",
    "numbers",
    "charts",
    "compare",
    "dialog",
    "models",
    "panels",
    "records",
    "text",
]
PAGES |= {f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8") for name in SCRIPTS}
SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def application(service: Service) -> Starlette:
    """The application of a service."""
    table = [Route(path, _Endpoint(service, each)) for path, each in by_path().items()]
    table.sort(key=lambda route: (not route.path.startswith("/v1"), "{" in route.path))  # often used: first
    table += [Route(at, _Endpoint(service, [_Page(*file)]), methods=["GET"]) for at, file in PAGES.items()]
    handlers: Any = {HTTPException: _unknown, Exception: _failed}
    return Starlette(routes=table, lifespan=partial(_lifespan, service), exception_handlers=handlers)


def by_path() -> dict[str, list[Endpoint]]:
    """The endpoints of each path, one for each method."""
    found = dict[str, list[Endpoint]]()
    for each in ENDPOINTS:
        for path in each.paths:
            found.setdefault(path, []).append(each)
    return found


class _Endpoint:
    """A path as an application: Starlette calls it without building a request of its own."""

    def __init__(self, service: Service, endpoints: "Sequence[Endpoint | _Page]") -> None:
        self.service, self.endpoint = service, endpoints[0]
        self.by_method = {each.method: each for each in endpoints}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, self.service.limits, self.service.patience)
        try:
            endpoint = self.by_method.get(request.method, self.endpoint)
            response = await endpoint.respond(self.service, request)
        except Problem as problem:
            if problem.name == "method":
                problem.headers["Allow"] = ", ".join(self.by_method)
            self.service.counters.rejected[request.model, problem.name] += 1
            response = as_problem(problem)
        except sqlite3.ProgrammingError as error:
            if "closed database" not in str(error):
                raise
            response = as_problem(Problem("busy", "the model is being changed: try again.", retry_after=1))
        await response(scope, receive, send)


class _Page:
    """A file of the page, which needs no token and ignores parameters."""

    method = "GET"

    def __init__(self, name: str, media: str) -> None:
        self.content, self.media = files("budgetron.serve").joinpath("page", name).read_bytes(), media

    async def respond(self, service: Service, request: Request) -> Response:
        """The file, unless a foreign page asks."""
        if service.tokens.known is None:
            service.tokens.check(request, "read")
        return Response(self.content, 200, SAFE, self.media)


async def _unknown(request: StarletteRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return as_problem(Problem("method", f"{request.method[:20]} is not allowed here.", allow="GET"))
    return as_problem(Problem("not-found", "there is nothing here: GET /openapi.json lists all paths."))


async def _failed(request: StarletteRequest, _: Exception) -> Response:
    report.error("a request failed", extra={"path": request.url.path, "method": request.method})
    return as_problem(Problem("internal", "the service failed; its messages say more."))


# ---- the process


@asynccontextmanager
async def _lifespan(service: Service, _: Starlette) -> AsyncIterator[None]:
    service.models.start(asyncio.get_running_loop())
    for each in service.inputs:
        each.start()
    tasks = [asyncio.create_task(each) for each in (_draw(service), service.patience.watch())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # whatever failed, the models are closed
        for each in service.inputs:
            await asyncio.to_thread(each.close)
        await asyncio.to_thread(service.models.close)


async def _draw(service: Service) -> None:
    """Add points to the curves: five a second if someone looks, else one."""
    turn = 0
    while True:
        await asyncio.sleep(0.2)
        turn += 1
        for model in list(service.models.by_name.values()):
            if not model.events.readers and turn % 5:
                continue
            try:
                point = await asyncio.to_thread(model.point)
                if point is not None:
                    model.events.progress(*point)
            except Exception:
                report.exception("metrics failed", extra={"model": model.name})


def configured(service: Service, most: int, **more: Any) -> Any:
    """How uvicorn serves, with at most so many connections."""
    import uvicorn

    return uvicorn.Config(
        application(service),
        http=connections.protocol(service.limits, most),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=service.limits.idle_seconds,
        ws="none",
        **more,
    )


def run(service: Service, listening: socket.socket, tls: dict[str, str], ready: Callable[[], None]) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code."""
    import uvicorn

    sys.setswitchinterval(0.0005)  # the writer must not keep the event loop waiting
    most = connections.allowed(service.limits.connections)
    if most < service.limits.connections:
        report.warning(
            "the limit on open files leaves %d connections, not %d: raise it (ulimit -n, LimitNOFILE=).",
            most,
            service.limits.connections,
        )
    config = configured(service, most, timeout_graceful_shutdown=30, **tls)

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Any:
            """Signals end the service with exit code 0, not the process by the signal."""
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.stop)
            yield

        def stop(self) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True
            for model in service.models.by_name.values():
                model.events.close()

        async def startup(self, sockets: Any = None) -> None:
            if tls:  # uvicorn does not pass this on; without it a handshake may take a minute
                loop: Any = asyncio.get_running_loop()
                seconds = service.limits.header_seconds
                loop.create_server = partial(loop.create_server, ssl_handshake_timeout=seconds)
            await super().startup(sockets)
            if self.started:
                ready()

    server = Server(config)
    server.run(sockets=[listening])
    return 1 if not server.started or service.trouble() or service.models.unsaved() else 0
