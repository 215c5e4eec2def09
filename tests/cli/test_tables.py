import json
import math

from discreet.cli.tables import document, table, table_of_numbers

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


def test_rows_become_blocks_where_columns_would_be_too_narrow_to_read(capsys, monkeypatch):
    columns = ("when (UTC)", "on what", "unit", "epsilon", "in all", "state")
    row = ("2030-01-02 03:04:05", "Popularity()", "rating", "0.5", "1.5", "released")
    monkeypatch.setenv("COLUMNS", "40")
    table(None, columns, [row, row])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= 40
    for column, cell in zip(columns, row, strict=True):
        assert lines.count(f"{column.ljust(10)}  {cell}") == 2
    monkeypatch.setenv("COLUMNS", "100")
    table(None, columns, [row, row])
    assert capsys.readouterr().out.count("unit") == 1
