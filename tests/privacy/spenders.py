"""Run by ``test_budget.py`` as a process of its own: forks many that spend from one budget. Imports nothing heavy.

    spenders.py once URL     a hundred processes ask once each, all at the same instant
    spenders.py forever URL  eight processes book small amounts until they are killed
    spenders.py halfway URL  one process books, and stops between the booking and its commit

A line is written for each answer of the budget, after it came.
"""

import os
import sys
import time
import traceback

from discreet.errors import OverspentError
from discreet.privacy import connections
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend

AMOUNTS = (0.01, 0.02, 0.03, 0.04, 0.05)
SMALL = 2.0**-10


def plan(epsilon):
    ledger = Ledger(epsilon=epsilon)
    ledger.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=1, scale=1 / epsilon))
    return ledger


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())  # short enough to be written in one piece


def once(url, number):
    amount = AMOUNTS[number % len(AMOUNTS)]
    try:
        reservation = Budget(url).reserve("data", plan(amount), f"process {number}")
    except OverspentError:
        say("refused", amount)
    else:
        say("booked", amount)
        reservation.released()


def forever(url, number):
    budget = Budget(url)
    while True:
        reservation = budget.reserve("data", plan(SMALL), f"process {number}")
        say("booked", reservation.id)
        if reservation.id % 2:
            reservation.released()


def halfway(url, number):
    def stop(_connection):
        say("halfway")
        time.sleep(600)

    connections._SqliteConnection.commit = connections._PostgresConnection.commit = stop
    Budget(url).reserve("data", plan(SMALL), f"process {number}")


def main(job, url):
    Budget(url)  # loads the driver once for all; there is no connection yet
    assert not {"numpy", "dp_accounting"} & set(sys.modules)
    count = {once: 100, forever: 8, halfway: 1}[job]
    gate, opener = os.pipe()
    for number in range(count):
        if os.fork() == 0:
            try:
                os.close(opener)
                os.read(gate, 1)  # returns when the last process that holds the other end has closed it
                job(url, number)
            except BaseException:
                say("failed", repr(traceback.format_exc()))
            finally:
                os._exit(0)
    os.close(opener)
    for _ in range(count):
        os.wait()


if __name__ == "__main__":
    main({"once": once, "forever": forever, "halfway": halfway}[sys.argv[1]], sys.argv[2])
