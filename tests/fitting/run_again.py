"""Run by ``test_run_ids.py`` as a process of its own: one named run, which can be stopped on the way.

run_again.py BUDGET FOLDER WHERE    WHERE is fit, published or nowhere: where to say so and wait to be killed
"""

import sys
import time
from pathlib import Path

import discreet as dc
from discreet.errors import DiscreetError
from discreet.privacy.budget import Reservation
from discreet.releases import storage


def stop(*_arguments, **_named):
    print("there", flush=True)
    time.sleep(600)


def main(budget, folder, where):
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    server = dc.TrustedServer(ratings, dc.Ledger(1.0), account="films", budget=dc.Budget(budget))
    if where == "fit":
        dc.TrustedServer.sum = stop
    if where == "published":
        marked = Reservation.publishing

        def publishing(self, arrays):
            marked(self, arrays)
            stop()

        Reservation.publishing = publishing
    try:
        dc.spend_and_release(dc.Popularity(), server, folder, run_id="nightly")
    except DiscreetError as error:
        print("refused", error, flush=True)
    else:
        print("done", storage.read_card(Path(folder))["arrays_sha256"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
