"""The routes. Bodies are read by hand: FastAPI's own answers to bad ones repeat what they got, which is a history."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.exceptions import HTTPException

import discreet
from discreet.errors import DiscreetError, UnknownNameError
from discreet.service import answers, asked
from discreet.service.asked import Body, RefusedError
from discreet.service.counts import Counts
from discreet.service.files import File
from discreet.service.guard import Guard, body_of
from discreet.service.limits import Limits
from discreet.service.swapping import Current

DESCRIPTION = (
    "Recommendations from a release that holds no user. A request carries the user's own history; nothing of it is "
    "kept, logged or counted. The page at `/` computes the same in the browser and sends nothing at all."
)
CONTENT_TYPE_OF_METRICS = "text/plain; version=0.0.4; charset=utf-8"


def application(
    current: Current,
    limits: Limits,
    counts: Counts,
    *,
    behind_proxy: bool = False,
    strict_transport: bool = False,
) -> Guard:
    """The whole service as an ASGI application."""
    app = FastAPI(
        title="Discreet",
        version=discreet.__version__,
        description=DESCRIPTION,
        docs_url=None,  # both pages are loaded from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={
            RefusedError: _refused,
            DiscreetError: _unusable,
            HTTPException: _no_route,
        },
    )
    _users(app, current, limits)
    _catalogue(app, current, limits)
    _operators(app, current, counts)
    _openapi(app)
    _page(app, current)
    return Guard(app, limits, counts, behind_proxy=behind_proxy, strict_transport=strict_transport)


def _users(app: FastAPI, current: Current, limits: Limits) -> None:
    """Questions about one user."""

    @app.post(
        "/recommend", **_described(asked.Recommend, asked.Recommendations, "The best items for a history, and why")
    )
    async def recommend(request: Request) -> Response:
        question = asked.read(asked.Recommend, await _body(request, "/recommend", limits))
        return _json(answers.recommend(current.ready, question, limits))

    @app.post("/predict", **_described(asked.Predict, asked.Predictions, "The rating that a user would give"))
    async def predict(request: Request) -> Response:
        question = asked.read(asked.Predict, await _body(request, "/predict", limits))
        return _json(answers.predict(current.ready, question, limits))


def _catalogue(app: FastAPI, current: Current, limits: Limits) -> None:
    """Questions about items, which are public."""
    words = [_parameter("q", "Words of a title.", "string"), _parameter("limit", "How many items.", "integer")]

    @app.get("/items", summary="Items by words of their titles", **_answers(asked.Items, words))
    async def items(request: Request) -> Response:
        _named(request, "/items")
        text = request.query_params
        return _json(answers.search(current.ready, text.get("q", ""), _whole(text.get("limit", "20")), limits))

    @app.get(
        "/items/{item:path}/similar",
        summary="Items like this one",
        **_answers(asked.Similar, [_parameter("k", "How many items.", "integer")]),
    )
    async def similar(request: Request) -> Response:
        _named(request, "/items/{item}/similar")
        k = _whole(request.query_params.get("k", "10"))
        return _json(answers.similar(current.ready, request.path_params["item"], k, limits))

    @app.get("/certificate", summary="What the release promises: JSON, or a page for browsers and ?format=html")
    async def certificate(request: Request) -> Response:
        _named(request, "/certificate")
        wanted = request.query_params.get("format")
        if wanted not in (None, "json", "html"):
            raise RefusedError(422, "format must be json or html")
        page = wanted == "html" or (wanted is None and "text/html" in request.headers.get("accept", ""))
        return _file(request, current.ready.certificate_page if page else current.ready.certificate, vary=True)

    @app.get("/release", summary="Which release answers, and what may be asked of it")
    async def release(request: Request) -> Response:
        _named(request, "/release")
        ready = current.ready
        return _json(
            {
                "release": ready.name,
                "model": ready.model,
                "items": len(ready.items),
                "scale": [ready.catalogue.scale.low, ready.catalogue.scale.high],
                "guarantee": ready.guarantee,
                "predicts": ready.scorer.predicts_ratings,
                "explains": ready.explains,
                "most": {"k": limits.k, "history": limits.history, "body": limits.body},
            }
        )


def _operators(app: FastAPI, current: Current, counts: Counts) -> None:
    """For those who run it."""

    @app.get("/health", summary="Whether the process answers")
    async def health(request: Request) -> Response:
        _named(request, "/health")
        return _json({"status": "ok"})

    @app.get("/ready", summary="Whether requests should come here: 503 while it ends")
    async def ready(request: Request) -> Response:
        _named(request, "/ready")
        return _json({"status": "ending" if current.stopping else "ready"}, 503 if current.stopping else 200)

    @app.get("/metrics", summary="Counts for Prometheus, without users and items")
    async def metrics(request: Request) -> Response:
        _named(request, "/metrics")
        found = counts.text(current.ready.model, current.ready.name)
        return PlainTextResponse(found, media_type=CONTENT_TYPE_OF_METRICS)


def _openapi(app: FastAPI) -> None:
    """The description of all routes above."""
    written = to_json(app.openapi())

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        _named(request, "/openapi.json")
        return Response(written, media_type="application/json")


def _page(app: FastAPI, current: Current) -> None:
    """The page that computes in the browser."""

    @app.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        path = request.path_params["path"] or "index.html"
        found = current.ready.page.get(path)
        if found is None:
            raise RefusedError(404, "there is nothing here: /openapi.json lists what can be asked")
        _named(request, "page")
        return _file(request, found)


async def _body(request: Request, route: str, limits: Limits) -> bytes:
    _named(request, route)
    return await body_of(request.receive, request.headers, limits)


def _named(request: Request, route: str) -> None:
    request.scope["discreet.route"] = route


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RefusedError(422, "a number of items must be a whole number")
    return int(text)


def _json(content: Any, status: int = 200) -> Response:
    return Response(to_json(content), status, media_type="application/json")


def _file(request: Request, file: File, *, vary: bool = False) -> Response:
    headers = {
        "etag": file.tag,
        "cache-control": "no-cache",
        "content-security-policy": file.policy,
        "vary": "Accept, Accept-Encoding" if vary else "Accept-Encoding",
    }
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    content = file.content
    if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["content-encoding"] = file.compressed, "gzip"
    return Response(content, 200, headers, media_type=file.kind)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    answer = _json({"error": error.sentence}, error.status)
    if error.status in (408, 413):  # a body that was not read must not be taken for the next request
        answer.headers["connection"] = "close"
    return answer


async def _unusable(_request: Request, error: Exception) -> Response:
    if isinstance(error, UnknownNameError):  # its sentence repeats the name
        return _json({"error": "an item is not in the catalogue"}, 422)
    return _json({"error": str(error)}, 422)


async def _no_route(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = "this path takes another method" if error.status_code == 405 else "there is nothing here"
    return Response(to_json({"error": sentence}), error.status_code, error.headers, media_type="application/json")


def _described(question: type[Body], answer: type[BaseModel], summary: str) -> dict[str, Any]:
    """What OpenAPI says of a route whose body is read by hand."""
    schema = question.model_json_schema()
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"summary": summary, "openapi_extra": {"requestBody": body}} | _answers(answer)


def _answers(answer: type[BaseModel], parameters: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "response_model": None,
        "responses": {200: {"model": answer}}
        | {status: {"model": asked.Sentence} for status in (400, 404, 408, 413, 422, 429)},
    }
    return found | ({"openapi_extra": {"parameters": parameters}} if parameters else {})


def _parameter(name: str, words: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": words, "schema": {"type": kind}}
