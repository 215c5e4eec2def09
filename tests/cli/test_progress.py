import sys

from discreet.cli.progress import bar


def test_nothing_is_drawn_where_nobody_looks(capsys):
    with bar() as progress:
        progress(1, 2, "reading")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with bar() as progress:
        progress(0, 0, "of unknown size")
        progress(1, 2, "reading [red]ratings")
        sys.stdout.write("a result\n")
    out, err = capsys.readouterr()
    assert out == "a result\n"
    assert "reading [red]ratings" in err
    assert "50%" in err
