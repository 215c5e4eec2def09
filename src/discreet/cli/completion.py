"""``discreet completion``: what a shell needs to complete commands and options."""

from typing import Annotated

import typer

from discreet.errors import require

VARIABLE = "_DISCREET_COMPLETE"
"""Set by the script whenever a shell asks."""
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}.")],
) -> None:
    """Print shell completion of commands and options.

    Use it as `source <(discreet completion bash)`.
    """
    require(shell in SHELLS, f"there is no completion for {shell!r}: choose from {', '.join(SHELLS)}")
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="discreet", complete_var=VARIABLE, shell=shell))


def answer_shells() -> None:
    """Make ready for the question of a shell. Otherwise it is left out: it would slow every command down."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
