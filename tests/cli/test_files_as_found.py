"""Files as people have them: other separators, no header, Latin-1, other names, tags of any kind, unlisted items."""

import json

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.features import item_features
from discreet.data.tags import kind_of_column, tags_of

SCALE = ("--scale", "1:5")


def described(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


@pytest.mark.parametrize("mark", ["::", ";", "|", "\t", ",", " "])
@pytest.mark.parametrize("name", ["r.dat", "r.csv", "r.txt"])
def test_separators_with_and_without_a_header(discreet, tmp_path, mark, name):
    rows = [("u1", "1", "5", "978300760"), ("u2", "2", "3", "978302109")]
    body = "".join(mark.join(row) + "\n" for row in rows)
    (tmp_path / name).write_text(body)
    found = discreet("data", "describe", tmp_path / name, *SCALE, "--columns", "user,item,rating,time", "--json")
    assert described(found)["ratings"] == 2 and described(found)["first"] == "2000-12-31"
    (tmp_path / name).write_text(mark.join(("user", "item", "rating", "time")) + "\n" + body)
    found = discreet("data", "describe", tmp_path / name, *SCALE, "--time-column", "time", "--json")
    assert described(found)["ratings"] == 2


def test_a_table_named_as_that_of_movielens_is_one_where_its_columns_are_named(discreet, tmp_path):
    (tmp_path / "ratings.dat").write_text("u1::1::5\n")
    (tmp_path / "movies.dat").write_text("1::Toy Story (1995)::Animation\n")
    found = discreet("data", "describe", tmp_path / "ratings.dat", *SCALE, "--columns", "user,item,rating", "--json")
    assert described(found)["ratings"] == 1


def test_the_first_row_of_a_file_without_header_is_a_rating_too(discreet, tmp_path):
    (tmp_path / "r.csv").write_text("ann,tea,5\nann,milk,9\n")
    refused = discreet("data", "describe", tmp_path / "r.csv", *SCALE, "--columns", "user,item,rating")
    assert refused.code == 2 and "row 2: the rating is outside" in refused.err
    hint = discreet("data", "describe", tmp_path / "r.csv", *SCALE)
    assert hint.code == 2 and "--columns user,item,rating" in hint.err and "ann" not in hint.err


def test_latin_1(discreet, tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\nann,café,5\n", encoding="latin-1")
    (tmp_path / "items.csv").write_text("item,title\ncafé,Café crème\n", encoding="latin-1")
    data = (tmp_path / "r.csv", *SCALE, "--items", tmp_path / "items.csv")
    refused = discreet("data", "describe", *data)
    assert refused.code == 2 and "--encoding latin-1" in refused.err
    out = tmp_path / "out"
    assert discreet("fit", "popularity", *data, "--encoding", "latin-1", "-o", out).code == 0
    assert dc.Release.load(out).catalogue.titles.tolist() == ["Café crème"]
    assert "there is no encoding 'klingon'" in discreet("data", "describe", *data, "--encoding", "klingon").err


def test_ratings_in_utf_16_beside_items_in_utf_8(discreet, tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\nann,1,5\n", encoding="utf-16")
    data = (tmp_path / "r.csv", *SCALE, "--items", tmp_path / "items.csv", "--encoding")
    for title, encoding in (("Tea", "utf-8"), ("Café", "utf-8"), ("Café", "utf-16")):
        (tmp_path / "items.csv").write_text(f"item,title\n1,{title}\n", encoding=encoding)
        assert discreet("fit", "popularity", *data, "utf-16", "-o", tmp_path / "out", "--replace").code == 0
        assert dc.Release.load(tmp_path / "out").catalogue.titles.tolist() == [title]
    (tmp_path / "r.csv").write_text("user,item,rating\nann,1,5\n", encoding="utf-16-le")
    refused = discreet("data", "describe", *data, "utf-16")
    assert refused.code == 2 and "r.csv is not text in utf-16: name another encoding" in refused.err


def test_items_in_utf_8_are_not_read_in_the_encoding_of_the_ratings(discreet, tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\nzoë,1,5\n", encoding="latin-1")
    (tmp_path / "items.csv").write_text("item,title\n1,Café\n", encoding="utf-8")
    data = (tmp_path / "r.csv", *SCALE, "--items", tmp_path / "items.csv", "--encoding", "latin-1")
    assert discreet("fit", "popularity", *data, "-o", tmp_path / "out").code == 0
    assert dc.Release.load(tmp_path / "out").catalogue.titles.tolist() == ["Café"]


@pytest.mark.parametrize("encoding", ["base64", "hex", "rot13", "undefined", "zlib", "", "a\0b"])
def test_what_is_no_encoding_of_text_is_refused_in_a_sentence(discreet, tmp_path, encoding):
    (tmp_path / "r.csv").write_text("user,item,rating\nann,1,5\n")
    refused = discreet("data", "describe", tmp_path / "r.csv", *SCALE, "--encoding", encoding)
    assert refused.code == 2 and "there is no encoding" in refused.err and "utf-8 or latin-1" in refused.err


@pytest.mark.parametrize("separator", ["xyz", "", "1", '"', "§"])
def test_what_is_no_separator_is_refused_with_what_is_one(discreet, tmp_path, separator):
    (tmp_path / "r.csv").write_text("user,item,rating\nann,1,5\n")
    refused = discreet("data", "describe", tmp_path / "r.csv", *SCALE, f"--separator={separator}")
    assert refused.code == 2 and "a separator is a mark, such as a comma, a semicolon, |, ::, a space" in refused.err


@pytest.fixture
def shop(tmp_path):
    """Ratings, and a table of products with another name for the item and many columns."""
    (tmp_path / "r.csv").write_text(
        "user,item,rating\n" + "".join(f"u{u},{i},{1 + (u + i) % 5}\n" for u in range(9) for i in range(6))
    )
    names = ["sku", "name", "brand", "price", "about", "colour"]
    brands = ["Acme", "Acme, Zeta", "Zeta", "", "Acme", "Other"]
    rows = [f'{i};Product {i};"{brands[i]}";{i * 2.5};A red kettle of fine steel number {i};blue' for i in range(5)]
    (tmp_path / "products.csv").write_text("\n".join([";".join(names), *rows]))
    return tmp_path


def test_tags_of_any_column(discreet, shop):
    data = (shop / "r.csv", *SCALE, "--items", shop / "products.csv", "--items-id-column", "sku", "--drop-unlisted")
    outcome = discreet(
        "fit",
        "popularity",
        *data,
        "--title-column",
        "name",
        "--features",
        "brand,price:number,about:text",
        "-o",
        shop / "out",
    )
    assert outcome.code == 0, outcome.err
    assert "Of products.csv these columns are not used: colour" in outcome.err
    catalogue = dc.Release.load(shop / "out").catalogue
    assert catalogue.titles.tolist() == [f"Product {i}" for i in range(5)]
    own = [{catalogue.genres[t] for t in np.flatnonzero(row)} for row in catalogue.item_genres]
    assert {tag for tag in own[1] if tag.startswith("brand")} == {"brand: Acme", "brand: Zeta"}
    assert not any(tag.startswith("brand") for tag in own[3])
    assert all(sum(tag.startswith("price") for tag in tags) == 1 for tags in own)
    assert any(tag.startswith("about: ") for tag in own[0])
    features = item_features(catalogue)
    assert np.allclose((features**2).sum(axis=1), [3, 3, 3, 2, 3])  # each column by itself


def test_without_features_all_unused_columns_are_named(discreet, shop):
    data = (shop / "r.csv", *SCALE, "--items", shop / "products.csv", "--items-id-column", "sku", "--drop-unlisted")
    outcome = discreet("fit", "popularity", *data, "-o", shop / "out")
    assert "name, brand, price, about, colour" in outcome.err


def test_unlisted_items_are_dropped_on_request(discreet, shop, caplog):
    data = (shop / "r.csv", *SCALE, "--items", shop / "products.csv", "--items-id-column", "sku")
    refused = discreet("data", "describe", *data)
    assert refused.code == 2 and "--drop-unlisted" in refused.err
    found = discreet("data", "describe", *data, "--drop-unlisted", "--json")
    assert described(found)["ratings"] == 45
    assert "ratings of items that are not listed are left out" in caplog.text


def test_options_of_the_items_need_the_file(discreet, shop):
    refused = discreet("data", "describe", shop / "r.csv", *SCALE, "--features", "brand")
    assert refused.code == 2 and "--features goes with --items FILE" in refused.err
    missing = discreet(
        "data",
        "describe",
        shop / "r.csv",
        *SCALE,
        "--items",
        shop / "products.csv",
        "--items-id-column",
        "sku",
        "--features",
        "size",
    )
    assert missing.code == 2 and "there is no column 'size'" in missing.err


def test_items_without_a_header(discreet, tmp_path):
    (tmp_path / "r.dat").write_text("1::1::5\n1::2::3\n")
    (tmp_path / "m.dat").write_text("1::Toy Story (1995)::Animation|Comedy\n2::Jumanji (1995)::Adventure\n")
    data = (tmp_path / "r.dat", *SCALE, "--columns", "user,item,rating", "--items", tmp_path / "m.dat")
    found = described(discreet("data", "describe", *data, "--items-columns", "item,title,genres", "--json"))
    assert found["genres"] == {"Adventure": 1, "Animation": 1, "Comedy": 1}


def test_genres_by_comma_or_bar():
    items = pl.DataFrame({"item": ["a", "b"], "genres": ["Drama, War", "Drama"]})
    frame = pl.DataFrame({"user": ["u"], "item": ["a"], "rating": [4]})
    assert dc.from_frame(frame, scale=(1, 5), items=items).catalogue.genres == ("Drama", "War")


def test_kinds_of_columns():
    assert kind_of_column(pl.Series("x", ["1", "", "2.5"])) == "number"
    assert kind_of_column(pl.Series("x", [3, 4])) == "number"
    assert kind_of_column(pl.Series("x", [["a"], ["b"]])) == "list"
    assert kind_of_column(pl.Series("x", ["a long text of many words", "and another one of these"])) == "text"
    tags = tags_of(pl.Series("price", [1.0, 2, 3, 4, 5, 6, None])).rows
    assert len({row[0] for row in tags if row}) == 6 and tags[-1] == []
    many = tags_of(pl.Series("id", [f"v{i % 100}" for i in range(1000)]), "list").rows
    assert len({tag for row in many for tag in row}) == 64
