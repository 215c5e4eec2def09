"""Whether a device computes what Python computes: an export is asked for the same users, in node or in a browser.

The users are made up (:func:`discreet.web.loss.made_up_histories`), so no rating is needed. Compared are the scores of
all items, predicted ratings and reasons of the 20 best, and these lists themselves. Where two items differ by less than
single precision can tell, their order is a matter of rounding; lists that differ in nothing else are counted apart.
"""

import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from re import DOTALL, search
from threading import Thread
from typing import Any, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.releases.recommendations import best_items
from discreet.releases.release import Release
from discreet.types import Floats
from discreet.web.loss import K, made_up_histories

Where = Literal["node", "chromium"]
PROGRAMS: dict[Where, tuple[str, ...]] = {
    "node": ("node", "nodejs"),
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
}
SECONDS = 300
TOLERANCE = 1e-5
ANSWER = """
function answer(release, asked) {
  const scores = new Float32Array(asked.length * release.catalogue.size), best = [];
  asked.forEach(({ items, values }, user) => {
    const history = items.map((item, place) => [item, values[place]]);
    scores.set(release.scores(history), user * release.catalogue.size);
    const reasons = (one) => one.because.map((why) => [why.position, why.share]);
    best.push(release.recommend(history, K).map((one) => [one.position, one.rating, reasons(one)]));
  });
  let text = "";
  for (const byte of new Uint8Array(scores.buffer)) text += String.fromCharCode(byte);
  return { scores: btoa(text), best };
}
""".replace("K)", f"{K})")
IN_NODE = (
    ANSWER
    + """
const { readFile } = await import("node:fs/promises"), root = `file://${process.argv[1]}`, told = {};
for (const name of JSON.parse(await readFile(new URL(`${root}/names.json`), "utf8"))) {
  const { open } = await import(`${root}/${name}/discreet.js`);
  const asked = JSON.parse(await readFile(new URL(`${root}/${name}/asked.json`), "utf8"));
  told[name] = answer(await open(await readFile(new URL(`${root}/${name}/release.discreet`))), asked);
}
console.log(JSON.stringify(told));
"""
)
IN_BROWSER = (
    '<!doctype html><pre id="told"></pre><script type="module">'
    + ANSWER
    + """
const json = async (path) => (await fetch(path)).json(), told = {};
try {
  for (const name of await json("names.json")) {
    const { open } = await import(`./${name}/discreet.js`);
    told[name] = answer(await open(`${name}/release.discreet`), await json(`${name}/asked.json`));
  }
  document.getElementById("told").textContent = JSON.stringify(told);
} catch (error) {
  document.getElementById("told").textContent = String(error);
}
</script>"""
)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far a device is from Python.

    Parameters
    ----------
    model, where
        What was asked, and where.
    score, rating, reason
        The largest difference of two scores (relative to the largest score of that user, if that is above 1), of two
        predicted ratings, and of two shares of a reason; None where the model has none.
    histories, equal_lists, equal_but_ties
        How many users, and for how many the 20 best are the same in the same order: strictly, and where items whose
        scores differ by less than ``1e-5`` may change places.
    """

    model: str
    where: Where
    score: float
    rating: float | None
    reason: float | None
    histories: int
    equal_lists: int
    equal_but_ties: int

    @property
    def holds(self) -> bool:
        """Whether nothing differs by more than 1e-5, and no list by more than the order of ties."""
        differences = [each for each in (self.score, self.rating, self.reason) if each is not None]
        return max(differences) <= TOLERANCE and self.equal_but_ties == self.histories


def agreement(release: Release, folder: str | Path, where: Where = "node") -> Agreement:
    """Ask an export of ``release`` in ``folder``, and compare with Python."""
    return agreements([(release, folder)], where)[0]


def agreements(exports: Sequence[tuple[Release, str | Path]], where: Where = "node") -> list[Agreement]:
    """The same for several exports, which are asked by one program, one after the other."""
    asked = [(Path(folder), made_up_histories(release.scorer())) for release, folder in exports]
    told = _ask(asked, where)
    return [
        _compared(release, histories, one, where)
        for (release, _), (_, histories), one in zip(exports, asked, told, strict=True)
    ]


def _compared(release: Release, histories: Ratings, told: Any, where: Where) -> Agreement:
    alone = [histories.select_users(np.array([user])) for user in range(histories.n_users)]  # as on a device
    exact = np.concatenate([release.scorer().scores(user) for user in alone])
    size = len(release.catalogue)
    scores = np.frombuffer(base64.b64decode(told["scores"]), dtype="<f4").reshape(-1, size)
    best = best_items(exact, [histories], K)
    largest = np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1)
    lists = [[one[0] for one in user] for user in told["best"]]
    mine = [[int(item) for item in row if item >= 0] for row in best]
    equal = [one == two for one, two in zip(lists, mine, strict=True)]
    close = [
        same or _same_but_ties(row, one, two, TOLERANCE * float(limit))
        for same, row, one, two, limit in zip(equal, exact, lists, mine, largest[:, 0], strict=True)
    ]
    return Agreement(
        model=type(release.model).__name__,
        where=where,
        score=float((np.abs(scores - exact) / largest).max()),
        rating=_rating_difference(release, alone, told["best"]),
        reason=_reason_difference(release, histories, told["best"]),
        histories=len(equal),
        equal_lists=sum(equal),
        equal_but_ties=sum(close),
    )


def program_of(where: Where) -> str | None:
    """Where node or a browser is on this machine."""
    return next((found for name in PROGRAMS[where] if (found := shutil.which(name)) is not None), None)


def _same_but_ties(scores: Floats, one: list[int], two: list[int], tolerance: float) -> bool:
    return len(one) == len(two) and bool(np.all(np.abs(scores[one] - scores[two]) <= tolerance))


def _rating_difference(release: Release, alone: Sequence[Ratings], best: list[Any]) -> float | None:
    if not release.predicts_ratings:
        return None
    largest = 0.0
    for user, told in zip(alone, best, strict=True):
        items = np.array([one[0] for one in told], dtype=np.int32)
        mine = release.predict(user, np.zeros_like(items), items)
        largest = max(largest, float(np.abs(mine - np.array([one[1] for one in told])).max(initial=0)))
    return largest


def _reason_difference(release: Release, histories: Ratings, best: list[Any]) -> float | None:
    """Of the three best of every fourth user: all shares, those that are not among the strongest three as 0."""
    if not any(one[2] for user in best for one in user):
        return None
    largest, catalogue = 0.0, release.catalogue
    for user in range(0, len(best), 4):
        history = histories.history_at(user)
        for position, _, told in best[user][:3]:
            mine = {catalogue.find(why.item): why.share for why in release.explain(history, catalogue.items[position])}
            theirs = dict(told)
            weakest = min([*mine.values(), *theirs.values()], default=0.0)
            for place in mine.keys() | theirs.keys():  # of two equal ones either may be the third
                largest = max(largest, abs(mine.get(place, weakest) - theirs.get(place, weakest)))
    return largest


# ── Asking ──


def _ask(exports: Sequence[tuple[Path, Ratings]], where: Where) -> list[Any]:
    program = program_of(where)
    if program is None:
        raise InputError(f"{where} is not on this machine: install {PROGRAMS[where][0]} to ask it")
    names = [f"export{place}" for place in range(len(exports))]
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "web"
        for name, (folder, histories) in zip(names, exports, strict=True):
            shutil.copytree(folder, root / name)
            users = (histories.history_at(user) for user in range(histories.n_users))
            asked = [{"items": one.items.tolist(), "values": one.values.tolist()} for one in users]
            (root / name / "asked.json").write_text(json.dumps(asked))
        (root / "names.json").write_text(json.dumps(names))
        said = _in_node(program, root) if where == "node" else _in_browser(program, root, Path(temporary) / "profile")
    try:
        told = json.loads(said)
    except ValueError:
        raise InputError(f"{where} could not use the export: {said.strip()[:300] or 'it said nothing'}") from None
    return [told[name] for name in names]


def _in_node(program: str, root: Path) -> str:
    command = [program, "--input-type=module", "-e", IN_NODE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.stdout or done.stderr


def _in_browser(program: str, root: Path, profile: Path) -> str:
    (root / "asked.html").write_text(IN_BROWSER)
    with served(root) as address:
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--timeout={SECONDS * 1000}",
            "--virtual-time-budget=1000000",
            f"--user-data-dir={profile}",
            "--dump-dom",
            f"{address}/asked.html",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    found = search('<pre id="told">(.*?)</pre>', done.stdout, DOTALL)
    return unescape(found.group(1)) if found else done.stderr


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder on a port of this machine; the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
