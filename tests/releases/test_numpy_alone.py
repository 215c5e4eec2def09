"""Reading and serving a release needs numpy and nothing else, whichever model it is of."""

import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.fitting.fit_on import fit_on
from discreet.names import every_kind

ROOT = Path(__file__).parents[2]
OTHERS = (
    "altair",
    "cryptography",
    "dp_accounting",
    "llvmlite",
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "scipy",
    "sqlalchemy",
    "threadpoolctl",
    "torch",
    "typer",
    "vl_convert",
)

BLOCK = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OTHERS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

SERVE = """
from pathlib import Path
import numpy as np
import discreet as dc
from discreet.data.history_file import read_history

for folder in sorted(Path(sys.argv[1]).iterdir()):
    release = dc.Release.load(folder)
    history = dc.History.of(release.catalogue, {name: 4.0 for name in list(release.catalogue.items)[:5]})
    explains = hasattr(release.model, "explain")
    found = release.recommend(history, k=10, explain=explains)
    assert len(found) == 10 and np.isfinite([one.score for one in found]).all(), folder.name
    if explains:
        release.explain(history, found[0].item)
    if release.predicts_ratings:
        release.predict(dc.Ratings.of_history(history), np.zeros(3, int), np.arange(3))
    file = Path(sys.argv[2])
    file.write_text("item,rating\\n" + "".join(f"{name},4\\n" for name in list(release.catalogue.items)[:5]))
    assert np.array_equal(read_history(file, release.catalogue).items, history.items)
    many = dc.Ratings.of_histories([history] * 40)
    scores = release.scorer().scores(many)
    assert np.allclose(scores[0], release.score(history), atol=1e-5)
    print(folder.name, "|", release.guarantee)
"""

TABLES = """
import discreet as dc

release = dc.Release.load(sys.argv[1])
history = dc.History.of_likes(release.catalogue, [release.catalogue.items[0]])
many = dc.Ratings.of_history(history)
for asked in (
    lambda: release.recommend_many(many),
    lambda: release.predict_frame(many, {}),
    lambda: release.recommend(history).to_frame(),
    lambda: many.to_frame(),
    lambda: many.csr,
    lambda: dc.Cosine().fit(dc.NoPrivacy(many)),
    lambda: dc.Release.load(sys.argv[1], key=sys.argv[1] + ".pub"),
):
    try:
        asked()
    except dc.DiscreetError as error:
        print(error)
"""


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCK + program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
    )


SMALL = {
    "mult-vae": {"hidden": 8, "latent": 4, "epochs": 2},
    "private-vae": {"latent": 4, "steps": 2},
    "auto-encoder": {"latent": 4, "epochs": 2},
    "paper:untrusted": {"epsilon": None},  # with noise, training by so few overflows
    "paper:dp-vae": {"hidden": 8, "latent": 2, "epochs": 2},
}


@pytest.fixture(scope="module")
def ratings() -> dc.Ratings:
    return dc.synthetic(users=40, items=30, ratings=600, seed=1)


def test_every_model_is_served(ratings, tmp_path):
    for name, kind in every_kind().items():
        fit_on(kind(**SMALL.get(name, {})), ratings).save(tmp_path / "releases" / name.replace(":", "-"))
    private = {
        "bias": dc.Terms(epsilon=1.0),
        "almanac": dc.Terms(epsilon=1.0, delta=1e-6, unit="user"),
        "als": dc.Terms(epsilon=5.0, delta=1e-6, unit="user"),
    }
    for name, terms in private.items():
        fit_on(every_kind()[name](), ratings, terms).save(tmp_path / "releases" / f"private-{name}")
    served = run(SERVE, tmp_path / "releases", tmp_path / "history.csv")
    assert served.returncode == 0, served.stderr
    lines = served.stdout.splitlines()
    assert len(lines) == len(every_kind()) + len(private)
    assert any(line.startswith("private-bias | ") and "epsilon 1" in line for line in lines)


def test_what_cannot_be_checked_is_said(ratings, tmp_path):
    """Gaussian noise is accounted for by functions of scipy: without them the promise is believed, and it is logged."""
    fit_on(dc.Almanac(), ratings, dc.Terms(epsilon=1.0, delta=1e-6, unit="user")).save(
        tmp_path / "releases" / "gaussian"
    )
    fit_on(dc.Bias(), ratings, dc.Terms(epsilon=1.0)).save(tmp_path / "releases" / "pure")
    served = run(SERVE, tmp_path / "releases", tmp_path / "history.csv")
    assert served.returncode == 0, served.stderr
    assert "gaussian promises was not recomputed from its ledger: scipy is not installed" in served.stderr
    assert "pure" not in served.stderr


def test_a_signature_that_cannot_be_checked_is_said_and_one_that_is_asked_for_is_refused(ratings, tmp_path):
    key = dc.privacy.SigningKey.new()
    release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    (tmp_path / "releases").mkdir()
    release.save(tmp_path / "releases" / "signed", sign=key)
    served = run(SERVE, tmp_path / "releases", tmp_path / "history.csv")
    assert served.returncode == 0, served.stderr
    assert "was not checked: cryptography is not installed" in served.stderr


def test_what_needs_more_says_what_to_install(ratings, tmp_path):
    dc.Bias().fit(dc.NoPrivacy(ratings)).save(tmp_path / "release")
    asked = run(TABLES, tmp_path / "release")
    assert asked.returncode == 0, asked.stderr
    lines = asked.stdout.splitlines()
    assert len(lines) == 7
    for line, library in zip(lines, ("polars", "polars", "polars", "polars", "scipy"), strict=False):
        assert line.startswith(f"{library} is not installed and is needed for ")
        assert line.endswith(f": pip install {library}")
    assert "is not installed" in lines[5]
    assert lines[6] == "cryptography is not installed and is needed for checking a signature: pip install cryptography"
