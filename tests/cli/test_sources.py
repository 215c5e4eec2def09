"""Ratings from a real PostgreSQL server, and from a local stand-in for S3; no message shows a password."""

import importlib.util
import io
import json
import logging
import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.data.item_file import read_catalogue
from discreet.data.remote import Remote, Table, local_path

RATINGS = dc.synthetic(users=60, items=40, ratings=900, seed=1)
ITEMS = list(RATINGS.catalogue.items)
COLUMNS = ("--user-column", "who", "--rating-column", "stars", "--scale", "1:5")


@pytest.fixture(scope="module")
def database():
    """The URL of a server of our own with the table shop.ratings."""
    pytest.importorskip("adbc_driver_postgresql", reason="needs discreet[sources]")
    psycopg = pytest.importorskip("psycopg")
    place = Path(__file__).parents[1] / "privacy" / "conftest.py"
    spec = importlib.util.spec_from_file_location("server_for_sources", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if (programs := module._programs()) is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="discreet-", dir="/tmp"))  # short: the path of a socket has to be
    server = module.Server(programs, folder)
    try:
        with psycopg.connect(host=str(folder), user="tester", dbname="postgres", autocommit=True) as connection:
            connection.execute("CREATE SCHEMA shop")
            connection.execute("CREATE TABLE shop.ratings (who int, item text, stars numeric(3, 1), at timestamptz)")
            rows = RATINGS.to_frame().with_columns(pl.col("user").cast(pl.Int32)).rows()
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO shop.ratings VALUES (%s, %s, %s, to_timestamp(%s))", rows)
                cursor.execute("CREATE TABLE shop.items (item text, title text, genres text[], price numeric)")
                listed = [(item, f"Tea {item}", ["warm"], 2.5) for item in ITEMS]
                cursor.executemany("INSERT INTO shop.items VALUES (%s, %s, %s, %s)", listed)
                cursor.execute("CREATE TABLE shop.users (who int, age int, occupation text)")
                cursor.executemany("INSERT INTO shop.users VALUES (%s, %s, %s)", [(1, 31, "writer"), (2, None, None)])
        yield server.emptied()
    finally:
        server.stop()
        shutil.rmtree(folder)


def test_a_table_of_postgresql_is_what_the_file_would_be(database):
    found = dc.load(f"{database}&table=shop.ratings", scale=(1, 5), user="who", rating="stars", time="at")
    assert found.to_frame().sort("user", "item").equals(RATINGS.to_frame().sort("user", "item"))


def test_items_users_and_stock_from_postgresql(discreet, database, tmp_path):
    """Everything that a night reads may lie in the database; what is typed shows no password anywhere."""
    items = f"{database}&table=shop.items"
    catalogue = read_catalogue(items, dc.Scale(1, 5), features=["price:number"])
    assert list(catalogue.items) == ITEMS and catalogue.titles[0] == f"Tea {ITEMS[0]}" and "warm" in catalogue.genres
    facts = dc.data.read_users(f"{database}&table=shop.users", user="who")
    assert facts.users == ("1", "2") and facts.columns["age"].tolist() == [31, 0]
    data = (f"{database}&table=shop.ratings", *COLUMNS)
    fitted = discreet("fit", "almanac", *data, "--items", items, "--items-public", "-o", tmp_path / "release")
    assert fitted.code == 0, fitted.err
    stock = f"{database}&query=SELECT item FROM shop.items LIMIT 5"
    named = ("--user-column", "who", "--rating-column", "stars", "--users", f"{database}&table=shop.users")
    outcome = discreet(
        "recommend", tmp_path / "release", "--all", data[0], *named, "--only", stock, "-o", tmp_path / "recs.csv"
    )
    assert outcome.code == 0, outcome.err
    assert set(pl.read_csv(tmp_path / "recs.csv")["item"].cast(str)) <= set(ITEMS[:5])
    missing = discreet("fit", "almanac", *data, "--items", f"{database}&table=nothing", "-o", tmp_path / "other")
    assert missing.code == 2 and "does not know the table" in missing.err


def test_a_night_from_postgresql(discreet, database, items, release, tmp_path):
    outcome = discreet(
        "fit", "popularity", f"{database}&table=shop.ratings", *COLUMNS, "--items", items, "--items-public",
        "--epsilon", 1, "-o", tmp_path / "release", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    account = json.loads(outcome.out)["account"]
    assert account.startswith("postgresql:///tmp/discreet-") and account.endswith("/postgres?table=shop.ratings")
    query = "SELECT who, item, stars FROM shop.ratings WHERE stars >= 3;"
    command = ("recommend", release, "--all", database, "--query", query, *COLUMNS[:4], "-o", tmp_path / "recs.parquet")
    outcome = discreet(*command)
    assert outcome.code == 0, outcome.err
    assert set(pl.read_parquet(tmp_path / "recs.parquet")["user"]) <= set(RATINGS.users)
    assert "nothing to do" in discreet(*command).out  # it is read again, and is the same


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("&table=nowhere", "it does not know the table"),
        ("", "does not say which table: add ?table=NAME"),
        ("&table=shop.ratings", "there is no column 'user'; the columns are who, item, stars, at"),
        ("&query=SELECT+1/0+AS+user,+1+AS+item,+1+AS+rating", "a value in a column cannot be read"),
    ],
)
def test_what_the_database_refuses_is_one_sentence(discreet, database, change, sentence):
    address = database.replace("tester@", "tester:hunter2@") + change
    outcome = discreet("data", "describe", address, "--scale", "1:5")
    assert outcome.code == 2 and sentence in outcome.err and outcome.err.count("\n") == 1
    assert "hunter2" not in outcome.err + outcome.out


def test_a_server_that_is_not_there(discreet):
    pytest.importorskip("adbc_driver_postgresql", reason="needs discreet[sources]")
    outcome = discreet("data", "describe", "postgresql://ann:hunter2@127.0.0.1:1/db?table=a", "--scale", "1:5")
    where, why = "postgresql://127.0.0.1:1/db?table=a", "the database does not answer; check host and port"
    assert outcome.err == f"discreet: {where} cannot be read: {why}\n"


# ── Object stores ──


@pytest.fixture(scope="module")
def store():
    """A stand-in for S3 on this machine, with the ratings in the bucket shop."""
    moto = pytest.importorskip("moto.server", reason="needs moto[server]")
    boto3 = pytest.importorskip("boto3")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="shop")
        frame = RATINGS.to_frame()
        for name, write in (
            ("r.parquet", frame.write_parquet),
            ("r.csv", frame.write_csv),
            ("r.arrow", frame.write_ipc),
        ):
            content = io.BytesIO()
            write(content)
            client.put_object(Bucket="shop", Key=name, Body=content.getvalue())
        listed = "".join(f"{item},Tea {item},warm|cold\n" for item in ITEMS)
        client.put_object(Bucket="shop", Key="items.csv", Body=f"item,title,genres\n{listed}".encode())
        client.put_object(Bucket="shop", Key="users.csv", Body=b"user,age\n1,31\n")
        yield "s3://shop"
    server.stop()


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.arrow"])
def test_a_file_in_an_object_store_is_what_it_would_be_here(store, name):
    found = dc.load(f"{store}/{name}", scale=(1, 5), time="time")
    assert found.to_frame().sort("user", "item").equals(RATINGS.to_frame().sort("user", "item"))


def test_a_night_from_an_object_store(discreet, store, release, table, tmp_path):
    assert discreet("recommend", release, "--all", f"{store}/r.parquet", "-o", tmp_path / "there.parquet").code == 0
    assert discreet("recommend", release, "--all", table, "-o", tmp_path / "here.parquet").code == 0
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_items_users_and_stock_from_an_object_store(discreet, store, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "discreet.toml").write_text(
        f'[data]\nsource = "{store}/r.parquet"\nscale = "1:5"\nitems = "{store}/items.csv"\nitems-public = true\n'
        f'users = "{store}/users.csv"\n[fit]\nmodel = "almanac"\nrelease = "release"\n'
        f'[recommend]\noutput = "recs.csv"\nonly = "{store}/items.csv"\n'
    )
    for command in (("fit",), ("recommend", "--all")):
        outcome = discreet("--config", folder / "discreet.toml", *command)
        assert outcome.code == 0, outcome.err
    assert dc.Release.load(folder / "release").catalogue.titles[0] == f"Tea {ITEMS[0]}"
    refused = discreet("recommend", folder / "release", "--likes", ITEMS[0], "--only", f"{store}/r.csv?x=hunter2")
    assert "hunter2" not in refused.err + refused.out


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing.parquet", "s3://shop/nothing.parquet cannot be read: there is no such file"),
        ("r.xlsx", "is no table that Discreet reads"),
    ],
)
def test_what_is_not_there_is_said(discreet, store, name, sentence):
    outcome = discreet("data", "describe", f"{store}/{name}", "--scale", "1:5")
    assert outcome.code == 2 and sentence in outcome.err and "hunter2" not in outcome.err


# ── Addresses ──


def test_no_text_of_an_address_shows_its_password():
    address = Remote.of("postgresql://ann:hunter2@db.shop:5433/films?table=r&password=hunter2&sslmode=require")
    for text in (
        str(address),
        repr(address),
        f"{address}",
        str(Table(place=address)),
        json.dumps(address),
    ):
        assert "hunter2" not in text and "ann" not in text
    assert str(address) == "postgresql://db.shop:5433/films?table=r"
    assert Table(place=str(address)).place.url == address.url  # text of it is still the address
    assert Remote.of(address.url, None) == address


def test_a_page_says_how_it_was_made_without_a_password(monkeypatch):
    from discreet.cli.options import this_command

    monkeypatch.setattr("sys.argv", ["discreet", "evaluate", "bias", "postgresql://ann:hunter2@db.shop/films?table=r"])
    assert this_command() == "discreet evaluate bias 'postgresql://db.shop/films?table=r'"


def test_addresses_that_cannot_be_read(discreet):
    assert "ratings cannot be read from ftp://…" in discreet("data", "describe", "ftp://a/b.csv", "--scale", "1:5").err
    assert "check its host and port" in discreet("data", "describe", "s3://a:x/b.csv", "--scale", "1:5").err
    query = ("--query", "select 1", "--scale", "1:5")
    assert "a query is for a database" in discreet("data", "describe", "s3://a/b.csv", *query).err


def test_files_may_be_written_as_addresses(discreet, table, release, tmp_path):
    assert local_path(f"file://{table}") == str(table)
    assert dc.load(f"file://{table}", scale=(1, 5)).n_users == 60
    assert discreet("recommend", release, "--all", f"file://{table}", "-o", tmp_path / "recs.csv").code == 0


def test_without_the_driver_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(dc.errors.MissingLibraryError, match=r"pip install 'discreet\[sources\]'"):
        dc.load("postgresql://db.shop/films?table=r", scale=(1, 5))
