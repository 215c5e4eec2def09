"""What people type. Nothing heavy is imported before a command needs it, so that ``--help`` is quick."""


def main() -> None:
    """Run the ``discreet`` command; exits with 0, with 2 after a bad input, with 130 when interrupted."""
    try:
        from discreet.cli.app import app

        app(prog_name="discreet")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
