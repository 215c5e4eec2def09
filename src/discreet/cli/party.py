"""``discreet party``: the recommender, the third party and users as programs on a network."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.certificate import signing_key
from discreet.cli.options import Replace, Settings, Sign, TunedOn
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models
from discreet.cli.tables import note, say
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.parties.serving import Address

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train over a network while ratings stay with their users.",
)

Listen = Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Where to answer.")]
State = Annotated[Path, typer.Option("--state", metavar="DIR", help="What is kept, to go on after a restart.")]
Certificate = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="FILE", help="For TLS (`discreet party certificates` makes a pair)."),
]
CertificateKey = Annotated[
    Path | None, typer.Option("--certificate-key", metavar="FILE", help="The secret key of the certificate.")
]
SharedKey = Annotated[
    Path, typer.Option("--key", metavar="FILE", help="What both servers share and nobody else (`discreet party key`).")
]
Trust = Annotated[
    list[Path],
    typer.Option("--trust", metavar="FILE", help="Certificate of the third party; no other is then trusted."),
]
TrustRecommender = Annotated[
    list[Path],
    typer.Option("--trust-recommender", metavar="FILE", help="Its certificate; no other is then trusted for it."),
]
TrustThirdParty = Annotated[
    list[Path],
    typer.Option("--trust-third-party", metavar="FILE", help="Its certificate; no other is then trusted for it."),
]
RecommenderUrl = Annotated[str, typer.Option("--recommender", metavar="URL", help="Where the recommender is.")]
ThirdPartyUrl = Annotated[str, typer.Option("--third-party", metavar="URL", help="Where the third party is.")]
Delta = Annotated[float, typer.Option("--delta", metavar="D")]
UsersAtLeast = Annotated[
    int, typer.Option("--users-at-least", metavar="N", help="How many users must take part in every sum.")
]
Rounds = Annotated[int, typer.Option("--rounds", metavar="N", help="How many questions there are at most.")]


def _check_installed() -> None:
    from discreet.extras import load_extra

    for module in ("starlette", "uvicorn", "httpx"):
        load_extra(module, "parties", "a party on a network")


def _address(listen: str, certificate: Path | None, key: Path | None) -> "Address":
    from discreet.parties.serving import Address

    return Address.parse(listen, certificate, key)


def _log() -> None:
    """What servers do, on stderr: no rating, no value, no name, no address."""
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("discreet.parties")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


@app.command()
def recommender(
    catalogue: Annotated[
        Path,
        typer.Option(metavar="ITEMS", help="Table of the public items, made without looking at any rating."),
    ],
    scale: Annotated[str, typer.Option(metavar="LOW:HIGH", help="The rating scale, for example 1:5.")],
    listen: Listen,
    third_party: ThirdPartyUrl,
    key: SharedKey,
    epsilon: Annotated[float, typer.Option(metavar="E", help="What each user may lose to either server.")],
    users_at_least: UsersAtLeast,
    state: State,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write the release to.")],
    delta: Delta = 1e-6,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="What is hidden: user (default) or rating.")] = "user",
    model: Annotated[str, typer.Option(metavar="NAME", help="A model by name (`discreet models`).")] = "almanac",
    settings: Settings = [],  # noqa: B006 (typer copies it)
    audience: Annotated[
        int | None, typer.Option(metavar="N", help="About how many users take part (default: --users-at-least).")
    ] = None,
    users_at_most: Annotated[int, typer.Option(metavar="N", help="How many there is room for in a sum.")] = 1 << 20,
    bits: Annotated[int, typer.Option(metavar="BITS", help="Size of the words that users send: 64 or 32.")] = 64,
    rounds: Rounds = 20,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long others may still come when there are enough users.")
    ] = 10.0,
    certificate: Certificate = None,
    certificate_key: CertificateKey = None,
    trust: Trust = [],  # noqa: B006 (typer copies it)
    tuned_on: TunedOn = None,
    end_other_run: Annotated[
        bool, typer.Option("--end-other-run", help="End a run that the third party has not finished, for good.")
    ] = False,
    replace: Replace = False,
    sign: Sign = None,
) -> None:
    """Train a model over users' devices, and write a release.

    It sees masked values and noisy sums. Started again with the same state, it goes on after the last finished round.
    """
    _check_installed()
    require(unit in ("user", "rating"), f"--unit must be user or rating, got {unit!r}")
    from discreet.data.catalogue import Scale
    from discreet.data.tables import read_catalogue
    from discreet.parties.calling import Caller
    from discreet.parties.credentials import read_key
    from discreet.parties.fitting import Run, recommend
    from discreet.parties.serving import run_program
    from discreet.privacy.ledger import Ledger
    from discreet.privacy.unit import Rating, User

    chosen = parse_models([model], settings, audience=audience or users_at_least)[model]
    run = Run(
        model=chosen,
        catalogue=read_catalogue(catalogue, Scale.parse(scale), items_public=True),
        ledger=Ledger(epsilon, delta, User() if unit == "user" else Rating()),
        key=read_key(key),
        users_at_least=users_at_least,
        users_at_most=users_at_most,
        rounds=rounds,
        bits=bits,
        seconds_for_others=wait,
        tuning=tuned_on,
    )
    address, secret = _address(listen, certificate, certificate_key), signing_key(sign)
    _log()

    async def main() -> Any:
        async with Caller(third_party, "third party", trust=trust) as other:
            return await recommend(
                run,
                address,
                other,
                state,
                output,
                sign=secret,
                replace=replace,
                end_other_run=end_other_run,
                progress=progress,
                started=lambda url: note(f"The recommender listens on {url}."),
            )

    with bar() as progress:
        release = run_program(main)
    say(str(release.guarantee))
    say(f"The release is in {output}; see `discreet show {output}` and `discreet certificate {output}`.")


@app.command("third-party")
def third_party(
    listen: Listen,
    key: SharedKey,
    state: State,
    enrolled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Digests of the tokens that count (`discreet party tokens`)."),
    ] = None,
    anyone: Annotated[
        bool, typer.Option("--anyone", help="Let anyone take part, without a token and as often as they like.")
    ] = False,
    certificate: Certificate = None,
    certificate_key: CertificateKey = None,
) -> None:
    """Keep the seeds of users' masks, and answer with noisy sums.

    It gives away one sum in each round. It never sees a value. It must belong to someone else than the recommender:
    both together can unmask everyone.
    """
    _check_installed()
    require((enrolled is None) == anyone, "give either --enrolled FILE or --anyone")
    import asyncio

    from discreet.parties.credentials import read_enrolled, read_key
    from discreet.parties.folder import StateFolder
    from discreet.parties.serving import listening, run_program
    from discreet.parties.third_party import ThirdPartyServer

    shared, tokens = read_key(key), None if enrolled is None else read_enrolled(enrolled)
    address = _address(listen, certificate, certificate_key)
    _log()

    async def main() -> None:
        with StateFolder(state, "third party") as folder:
            server = ThirdPartyServer(folder, shared, tokens)
            async with listening(server.app(), address) as url:
                note(f"The third party listens on {url}.")
                await asyncio.Event().wait()

    run_program(main)


@app.command()
def user(
    recommender: RecommenderUrl,
    third_party: ThirdPartyUrl,
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your ratings: the columns item or title, and rating.")
    ] = None,
    histories: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder of such files, to host many users in one program.")
    ] = None,
    token: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your token; of many users one a line, in order of files."),
    ] = None,
    budget: Annotated[
        float, typer.Option(metavar="E", help="Epsilon that either server may learn at most, over all runs.")
    ] = 1.0,
    delta: Delta = 1e-6,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="What must be hidden: user (default) or rating.")] = "user",
    users_at_least: UsersAtLeast = 20,
    rounds: Rounds = 20,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a server may be away before this program ends.")
    ] = 600.0,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="DIR", help="What is kept (default: in your own state folder).")
    ] = None,
    trust_recommender: TrustRecommender = [],  # noqa: B006 (typer copies it)
    trust_third_party: TrustThirdParty = [],  # noqa: B006
) -> None:
    """Take part in one run, with your ratings staying here.

    What leaves is masked. What is asked is compared with what your own copy of the model asks for, and anything else is
    refused.
    """
    _check_installed()
    from contextlib import closing

    require((history is None) != (histories is None), "give either --history FILE or --histories DIR")
    require(unit in ("user", "rating"), f"--unit must be user or rating, got {unit!r}")
    from discreet.parties.calling import Caller
    from discreet.parties.folder import Kept, StateFolder
    from discreet.parties.hosting import default_state, history_files, hosted_users
    from discreet.parties.serving import run_program
    from discreet.parties.user import Terms, take_part
    from discreet.privacy.unit import Rating, User

    place = history or histories
    assert place is not None
    files = history_files(place)
    terms = Terms(
        epsilon=budget,
        delta=delta,
        unit=User() if unit == "user" else Rating(),
        users_at_least=users_at_least,
        rounds=rounds,
    )

    async def main() -> Any:
        with StateFolder(state or default_state(place), "user") as folder, closing(Kept(folder.path)) as kept:
            users = hosted_users(files, token)
            async with (
                Caller(recommender, "recommender", trust=trust_recommender) as one,
                Caller(third_party, "third party", trust=trust_third_party) as other,
            ):
                return await take_part(users, kept, terms, one, other, seconds=patience, heard=note)

    outcome = run_program(main)
    for reason in outcome.refused:
        note(f"Refused: {reason}.")
    require(outcome.took_part > 0, "no user took part: see why above")
    say(f"Done: {outcome.took_part} of {len(files)} users took part and answered up to {outcome.answered} questions.")


@app.command()
def certificates(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write them to.")],
    host: Annotated[
        list[str], typer.Option("--host", metavar="HOST", help="A name or address of the server; repeatable.")
    ] = ["localhost", "127.0.0.1"],  # noqa: B006 (typer copies it)
) -> None:
    """Make a self-signed certificate and its secret key."""
    from discreet.parties.certificates import make_certificate

    public, secret = make_certificate(output, host)
    say(f"Give {public} to users, and to the recommender if it is the third party's; keep {secret} secret.")


@app.command()
def key(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write it to.")],
) -> None:
    """Make the key by which both servers know each other."""
    from discreet.parties.credentials import make_key

    make_key(output)
    say(f"Both servers need {output} (--key), and nobody else.")


@app.command()
def tokens(
    users: Annotated[int, typer.Option(metavar="N", help="How many.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write them to.")],
) -> None:
    """Make tokens for users, and their list for the third party.

    Whoever hands them out must be neither of the servers' operators, or must not write down who gets which.
    """
    from discreet.parties.credentials import make_tokens

    secret, listed = make_tokens(output, users)
    say(f"Give each user one line of {secret}, and the third party {listed} (--enrolled).")
