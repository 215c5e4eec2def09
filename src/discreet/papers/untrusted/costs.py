"""What a round of S3 costs: bytes of the messages, and milliseconds at a user's and at the third party's.

For a user with 20 rated items, d 50, and 1,000 users in a round, as in the paper; 10,000 items for what the third party
sends.
"""

import time
from collections.abc import Callable
from functools import cache

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.history import History
from discreet.papers.frame.cases import Case
from discreet.papers.untrusted.algorithm import UntrustedMF
from discreet.papers.untrusted.messages import Masked, Task, Totals
from discreet.papers.untrusted.parties import ThirdParty, User

RATED, USERS, ITEMS, REPEATS = 20, 1000, 10_000, 5
MODEL = UntrustedMF(scenario="dynamic", at_most=USERS)


def measured(case: Case) -> float:
    """Kilobytes of a message with words of so many bytes, or milliseconds, the least of a few times."""
    word = int(case.get("bytes") or 8)
    if case.method == "download":
        return task().size(word) / 1000
    if case.method == "upload":
        return masked().size(word) / 1000
    if case.method == "third party sends":
        items = np.arange(ITEMS, dtype=np.int32)
        words = np.zeros((ITEMS, MODEL.factors), dtype=np.uint64)
        return Totals(round=1, users=tuple(range(USERS)), items=items, words=words).size(word) / 1000
    return third_party_time() if case.method == "third party" else client_time()


def task() -> Task:
    """What a user with 20 rated items is sent in a round of S3."""
    shape = RATED, MODEL.factors
    return Task(
        user=0,
        round=1,
        items=np.arange(RATED, dtype=np.int32),
        vectors=np.full(shape, 0.1),
        masks=np.ones(shape, dtype=np.uint64),
        counts=np.full(RATED, 10, dtype=np.int32),
        exponentials=np.ones(shape),
        pieces=np.ones(shape, dtype=np.uint64),
    )


def masked(user: int = 0, first: int = 0) -> Masked:
    """And what she sends."""
    items = np.arange(first, first + RATED, dtype=np.int32)
    return Masked(user=user, round=1, items=items, words=np.full((RATED, MODEL.factors), 3, dtype=np.uint64))


@cache
def third_party_time() -> float:
    """Milliseconds to add up what 1,000 users send."""
    party = ThirdParty(MODEL, ITEMS)
    sent = [masked(user, (user * 7) % (ITEMS - RATED)) for user in range(USERS)]
    return 1000 * least_time(lambda: party.collect(1, sent))


@cache
def client_time() -> float:
    """Milliseconds of a user's own computation in a round, noise and masks included."""
    catalogue = Catalogue.of([str(item) for item in range(RATED)], Scale(1, 5))
    history = History(catalogue, np.arange(RATED, dtype=np.int32), np.full(RATED, 4, dtype=np.float32))
    user, sent = User(MODEL, 0, history, np.full(MODEL.factors, 0.1)), task()
    return 1000 * least_time(lambda: user.act(sent))


def least_time(work: Callable[[], object]) -> float:
    """Seconds, of a few times the least: others on the machine only make it longer."""
    work()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
