import json
import math

from discreet.cli.tables import document, table_of_numbers

COLUMNS = ("model", "rmse", "mae", "fit s")
ROWS = (("cosine", "0.9421 ±.0031", "0.7412 ±.0020", "1.25"),)


def test_a_document_is_json_whatever_the_numbers(capsys):
    document({"a": [math.nan, math.inf, 1.5], "b": ("é", None, True)})
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"a": [None, None, 1.5], "b": ["é", None, True]}
    assert printed.err == ""


def test_a_wide_terminal_gets_one_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    table_of_numbers("title", COLUMNS, ROWS)
    assert capsys.readouterr().out.count("model") == 1


def test_a_narrow_terminal_gets_several_and_no_number_is_broken(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    table_of_numbers("title", COLUMNS, ROWS)
    printed = capsys.readouterr().out
    assert printed.count("model") == 3
    assert all(cell in printed for cell in ROWS[0])
    assert max(map(len, printed.splitlines())) <= 30
