"""``discreet serve``: a release as a web service, with a page that computes in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import OwnModel
from discreet.cli.tables import note


def serve(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="Folder of a release, or a link to it; a new one is loaded.")
    ],
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", help="0 for any that is free.")] = 8000,
    workers: Annotated[int, typer.Option(metavar="N", help="How many processes answer.")] = 1,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For TLS (`discreet party certificates` makes a pair).")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The secret key of the certificate.")] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option("--behind-proxy", help="TLS ends at a proxy in front, which writes X-Forwarded-For."),
    ] = False,
    signed_by: Annotated[
        Path | None, typer.Option(metavar="KEY.pub", help="Refuse releases that this public key did not sign.")
    ] = None,
    rate: Annotated[
        float, typer.Option(metavar="R", help="Requests a second that one client may make; 0 for no limit.")
    ] = 50.0,
    most_k: Annotated[int, typer.Option(metavar="K", help="How many items one request may ask for.")] = 200,
    longest_history: Annotated[int, typer.Option(metavar="N", help="Ratings of a history at most.")] = 2000,
    most_bytes: Annotated[int, typer.Option(metavar="BYTES", help="Bytes of a body at most.")] = 1 << 20,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long the head of a request may take, and its body.")
    ] = 10.0,
    watch: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to look for a new release; SIGHUP looks at once.")
    ] = 1.0,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Offer the page for browsers at /.")] = True,
    access_log: Annotated[
        bool, typer.Option("--access-log/--no-access-log", help="A line for each request: no address, query or body.")
    ] = True,
    model: OwnModel = None,
) -> None:
    """Serve a release over HTTP, with a page for browsers.

    Requests bring the history of a user, which is not kept. The page at / computes in the browser and sends nothing. A
    new release in the same place is taken up without dropping a request.
    """
    from discreet.extras import load_extra

    for module in ("fastapi", "uvicorn", "httptools"):
        load_extra(module, "serve", "a service")
    from discreet.service.limits import Limits
    from discreet.service.ready import Source
    from discreet.service.running import serve as run
    from discreet.service.settings import Service

    limits = Limits(
        rate=rate,
        burst=max(1, round(4 * rate)),
        k=most_k,
        history=longest_history,
        body=most_bytes,
        seconds_for_head=timeout,
        seconds_for_body=timeout,
    )
    service = Service(
        source=Source(path=release, key=signed_by, model=model, page=page),
        host=host,
        port=port,
        certificate=certificate,
        key=key,
        behind_proxy=behind_proxy,
        workers=workers,
        watch=watch,
        limits=limits,
        access_log=access_log,
    )
    run(service, lambda url: note(f"Serving {release} on {url}"))
