"""The ``discreet`` command: the table of its subcommands, and what becomes of an error."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from discreet import __version__
from discreet.cli import (
    attack,
    audit,
    budget,
    certificate,
    completion,
    data,
    demo,
    doctor,
    evaluation,
    export,
    fitting,
    models,
    party,
    perturb,
    planning,
    published,
    recommending,
    reports,
    reproduce,
    search,
    serve,
    similar,
)
from discreet.cli.hints import about_times
from discreet.cli.project import Project, find
from discreet.errors import DiscreetError, one_line

UsageError: Any = typer.BadParameter.__bases__[0]
"""What the parser raises; typer carries it, and gives only this one of its descendants a name."""


_SAID = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}
"""What the library beneath typer says of a value, and what it means."""

AS_JSON = "discreet: failures as JSON"


class Commands(TyperGroup):
    """Subcommands in the order of the table below; an error becomes one sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand: 2 after a bad input, 130 when interrupted, and no traceback for either."""
        as_json = bool(ctx.meta.get(AS_JSON))
        try:
            return super().invoke(ctx)
        except UsageError as error:
            explain_usage(error, as_json=as_json)
        except DiscreetError as error:
            fail(about_times(str(error)), type(error).__name__, error.place, as_json=as_json)
        except BrokenPipeError:
            raise  # the reader of our output has left: typer ends quietly
        except OSError as error:
            sentence = ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
            fail(sentence, "OSError", error.filename and str(error.filename), as_json=as_json)
        except MemoryError:
            fail("there is not enough memory for this; take smaller settings, or fewer ratings", as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    def make_context(self, info_name: Any, args: list[str], *given: Any, **named: Any) -> Any:
        """Read the options before the subcommand; what is wrong with them is one sentence too."""
        as_json = "--json" in args
        try:
            context = super().make_context(info_name, args, *given, **named)
        except UsageError as error:
            explain_usage(error, as_json=as_json)
        context.meta[AS_JSON] = as_json
        return context


def explain_usage(error: Any, *, as_json: bool) -> NoReturn:
    """One sentence for a command that cannot be read, and where to find how it is written."""
    if not error.format_message() or type(error).__name__ == "NoArgsIsHelpError":
        raise error  # nothing was asked for, so the help is the answer
    sentence = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
    for said, meant in _SAID.items():
        sentence = sentence.replace(said, meant)
    command = error.ctx.command_path if error.ctx is not None else "discreet"
    hint = "" if "did you mean" in sentence.lower() else f"; see `{command} --help`"
    if "extra argument" in sentence and any("--models" in option.opts for option in error.ctx.command.params):
        hint = "; models are named with --models, commas between them"  # elsewhere they come before the data
    option = getattr(error, "param", None)
    place = command if option is None else f"{command} {option.opts[0]}"
    fail(f"{sentence[:1].lower()}{sentence[1:]}{hint}", "UsageError", place, as_json=as_json)


def fail(sentence: str, kind: str = "Error", place: str | None = None, *, as_json: bool = False) -> NoReturn:
    """Say what is wrong on stderr, where asked for as one JSON document, and end with 2."""
    sentence = one_line(sentence)
    failure = {"kind": kind, "sentence": sentence, "place": place}
    typer.echo(json.dumps(failure, ensure_ascii=False) if as_json else f"discreet: {sentence}", err=True)
    raise typer.Exit(2) from None


def version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


# Plain help: rich would double the time that --help takes.
app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)
app.add_typer(data.app, name="data")
app.command()(models.models)
app.command()(fitting.fit)
app.command()(planning.plan)
app.command()(search.search)
app.command()(evaluation.evaluate)
app.command()(evaluation.compare)
app.command()(recommending.recommend)
app.command()(serve.serve)
app.command()(similar.similar)
app.command()(fitting.show)
app.command()(certificate.certificate)
app.command()(certificate.keys)
app.command()(export.export)
app.command()(audit.audit)
app.add_typer(attack.app, name="attack")
app.command()(budget.budget)
app.command()(perturb.perturb)
app.command()(perturb.collect)
app.add_typer(reports.app, name="reports")
app.add_typer(party.app, name="party")
reproduce.app.command()(published.tables)
app.add_typer(reproduce.app, name="reproduce")
app.command()(demo.demo)
app.command()(doctor.doctor)
app.command()(completion.completion)


@app.callback()
def discreet(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Defaults of a project (default: discreet.toml, here or in a folder above).",
        ),
    ] = None,
) -> None:
    """A recommender system that keeps its users' ratings private.

    Start with `discreet demo`. Without --epsilon a fit has no privacy, and every result says so.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a title that the terminal cannot show is no reason to fail
    if (found := config or find(Path())) is not None:
        ctx.default_map = Project.read(found).defaults()
