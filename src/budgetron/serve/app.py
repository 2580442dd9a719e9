"""The application: paths, roles and errors; and the process that serves it."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.routing import Route

from budgetron.serve import connections, oip, openapi, routes
from budgetron.serve.models import DEFAULT
from budgetron.serve.problems import Problem
from budgetron.serve.requests import Request, as_json, as_problem
from budgetron.serve.service import Service
from budgetron.serve.tokens import refuse_foreign_origin

report = logging.getLogger("budgetron.serve")
Handler = Callable[..., Awaitable[Response]]

OF_A_MODEL: dict[str, tuple[str, str, Handler]] = {
    "predict": ("POST", "read", routes.predict_rows),
    "learn": ("POST", "learn", routes.learn),
    "label": ("POST", "learn", routes.label),
    "model": ("GET", "read", routes.describe),
    "model/file": ("GET", "read", routes.file),
    "log": ("GET", "read", routes.log),
    "snapshot": ("POST", "admin", routes.snapshot),
    "events": ("GET", "read", routes.events),
}
"""Below /v1 and /v1/models/{model}: the method, the role and the handler."""
OIP_OF_A_MODEL: dict[str, tuple[str, str, Handler]] = {
    "/v2/models/{model}": ("GET", "read", oip.describe),
    "/v2/models/{model}/ready": ("GET", "", oip.model_ready),
    "/v2/models/{model}/infer": ("POST", "read", oip.infer),
    "/v2/models/{model}/versions/{version}": ("GET", "read", oip.describe),
    "/v2/models/{model}/versions/{version}/ready": ("GET", "", oip.model_ready),
    "/v2/models/{model}/versions/{version}/infer": ("POST", "read", oip.infer),
}
OF_THE_SERVICE: dict[str, tuple[str, str, Handler]] = {
    "/v1/models": ("GET", "read", routes.models),
    "/v1/models/{model}": ("PUT", "admin", routes.create),
    "/metrics": ("GET", "read", routes.metrics),
    "/v2": ("GET", "", oip.server),
    "/v2/health/live": ("GET", "", oip.live),
    "/v2/health/ready": ("GET", "", oip.ready),
}
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/uplot.css": ("uplot.css", "text/css; charset=utf-8"),
    "/favicon.ico": ("favicon.svg", "image/svg+xml"),
}
SCRIPTS = ("uplot", "page", "stream", "numbers", "charts", "panels", "text")
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
    made = [Route(f"/v1/{path}", *_of_model(service, DEFAULT, *what)) for path, what in OF_A_MODEL.items()]
    made += [
        Route(f"/v1/models/{{model}}/{path}", *_of_model(service, None, *what))
        for path, what in OF_A_MODEL.items()
    ]
    made += [Route(path, *_of_model(service, None, *what)) for path, what in OIP_OF_A_MODEL.items()]
    made += [Route(path, *_of_service(service, *what)) for path, what in OF_THE_SERVICE.items()]
    made += [Route(path, _page(service, *what), methods=["GET"]) for path, what in PAGES.items()]
    made.append(Route("/openapi.json", *_of_service(service, "GET", "", _openapi)))
    handlers: Any = {HTTPException: _unknown, Exception: _failed}
    return Starlette(routes=made, lifespan=_lifespan(service), exception_handlers=handlers)


def paths() -> dict[str, set[str]]:
    """Every path with its methods, for the tests of the OpenAPI document."""
    found = {f"/v1/{path}": {what[0]} for path, what in OF_A_MODEL.items()}
    found |= {f"/v1/models/{{model}}/{path}": {what[0]} for path, what in OF_A_MODEL.items()}
    for table in (OIP_OF_A_MODEL, OF_THE_SERVICE):
        found |= {path: {what[0]} for path, what in table.items()}
    return found | {"/openapi.json": {"GET"}}


class _Endpoint:
    """A handler as an application: Starlette calls it without building a request of its own."""

    def __init__(
        self, service: Service, model: str | None, method: str, role: str, handler: Handler
    ) -> None:
        self.service, self.model, self.method, self.role, self.handler = (
            service,
            model,
            method,
            role,
            handler,
        )
        self.of_a_model = True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        response = await self.answer(Request(scope, receive))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """The answer of the handler, or the problem that it raises."""
        service, name = self.service, ""
        try:
            if request.method != self.method and not (request.method == "HEAD" and self.method == "GET"):
                raise Problem(
                    "method", f"expected {self.method}, got {request.method[:20]}.", allow=self.method
                )
            if self.method != "GET":
                refuse_foreign_origin(request.headers)
            if self.role:
                service.tokens.check(request, self.role)
            if not self.of_a_model:
                return await self.handler(service, request)
            model = service.models.get(self.model or request.path_params["model"])
            name = model.name
            return await self.handler(service, model, request)
        except Problem as problem:
            service.counters.rejected[name, problem.name] += 1
            return as_problem(problem)


def _of_model(service: Service, model: str | None, method: str, role: str, handler: Handler) -> tuple[Any]:
    return (_Endpoint(service, model, method, role, handler),)


def _of_service(service: Service, method: str, role: str, handler: Handler) -> tuple[Any]:
    made = _Endpoint(service, None, method, role, handler)
    made.of_a_model = False
    return (made,)


def _page(service: Service, name: str, media: str) -> Any:
    content = files("budgetron.serve").joinpath("page", name).read_bytes()

    async def page(request: StarletteRequest) -> Response:
        if service.tokens.known is None:
            try:
                service.tokens.check(request, "read")
            except Problem as problem:
                return as_problem(problem)
        return Response(content, 200, SAFE, media)

    return page


async def _openapi(service: Service, _: Request) -> Response:
    return as_json(openapi.document(service.limits))


async def _unknown(request: StarletteRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return as_problem(Problem("method", f"{request.method[:20]} is not allowed here.", allow="GET"))
    return as_problem(Problem("not-found", "there is nothing here: GET /openapi.json lists all paths."))


async def _failed(request: StarletteRequest, _: Exception) -> Response:
    report.error("a request failed", extra={"path": request.url.path, "method": request.method})
    return as_problem(Problem("internal", "the service failed; its messages say more."))


# ---- the process


def _lifespan(service: Service) -> Any:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
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

    return lifespan


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
