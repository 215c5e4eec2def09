"""All parties in one process: the same servers and users, with requests that take no network."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pytest

import discreet as dc
from discreet.parties.calling import Caller
from discreet.parties.credentials import make_tokens, read_enrolled, read_tokens
from discreet.parties.fitting import Run
from discreet.parties.folder import Kept, StateFolder
from discreet.parties.recommender import RecommenderServer
from discreet.parties.third_party import ThirdPartyServer
from discreet.parties.user import Terms, UserSession
from discreet.populations.remote import Device, ModelCopy

KEY = bytes(range(32))
RATINGS = dc.synthetic(users=8, items=12, ratings=60, seed=4)
TERMS = Terms(epsilon=20.0, delta=1e-5, users_at_least=2)


@dataclass
class Net:
    """Both servers and some users; every server can be killed and started again."""

    root: Path
    at_least: int = 3
    run: Run = field(init=False)
    open_folders: list[StateFolder] = field(default_factory=list)

    def __post_init__(self):
        make_tokens(self.root / "tokens", RATINGS.n_users)
        self.tokens = read_tokens(self.root / "tokens/tokens.txt", RATINGS.n_users)
        self.enrolled = read_enrolled(self.root / "tokens/enrolled.txt")
        self.run = Run(
            model=dc.Popularity(),
            catalogue=RATINGS.catalogue,
            ledger=dc.Ledger(20.0, 1e-5, dc.User()),
            key=KEY,
            users_at_least=self.at_least,
            users_at_most=100,
            seconds_for_others=0.0,
        )
        self.kept = Kept(self.root / "users")
        self.start_third_party()
        self.start_recommender()

    def start_third_party(self):
        self.third_party = ThirdPartyServer(self._folder("third party"), KEY, self.enrolled)
        self.third_party_app = self.third_party.app()

    def start_recommender(self, name="recommender"):
        folder = self._folder(name)
        self.offer = self.run.offer(folder)
        self.recommender = RecommenderServer(
            folder, self.offer, RATINGS.catalogue, KEY, self.caller("third party"), seconds_for_others=0.0
        )
        self.recommender_app = self.recommender.app()
        return self.recommender

    def _folder(self, name):
        for folder in [each for each in self.open_folders if each.path.name == name]:
            folder.__exit__()  # as the operating system does when a program is killed
            self.open_folders.remove(folder)
        self.open_folders.append(StateFolder(self.root / name, name).__enter__())
        return self.open_folders[-1]

    def caller(self, name):
        """Reaches whatever server of this name runs at the moment."""

        async def app(scope, receive, send):
            running = self.recommender_app if name == "recommender" else self.third_party_app
            await running(scope, receive, send)

        return Caller("http://localhost:1", name, transport=httpx.ASGITransport(app=app))

    def session(self, place, terms=TERMS, token=None):
        return UserSession(
            self.kept,
            str(place),
            RATINGS.history_at(place),
            self.copy(),
            terms,
            self.tokens[place] if token is None else token,
            self.caller("recommender"),
            self.caller("third party"),
        )

    def question(self):
        """What the model asks first."""
        return self.copy().next([])[0]

    def copy(self):
        return ModelCopy(self.run.model, RATINGS.catalogue, self.offer)

    async def round_begins(self):
        """The task of a round, once users are being asked."""
        task = asyncio.create_task(self.recommender.run_round(self.question()))
        while self.recommender._open is None and not task.done():
            await asyncio.sleep(0)
        return task

    @property
    def boot(self):
        return self.recommender._boot

    def counts(self, places):
        """What these users' own statistics add up to."""
        question = self.question()
        points, total = question.points(self.offer), np.zeros(question.cells, np.int64)
        for place in places:
            own = Device(self.copy(), dc.Ratings.of_history(RATINGS.history_at(place)), key=KEY)
            total += points.whole(own.next([]).values.ravel())
        return (total * question.step).tolist()

    def decoded(self, told):
        question, answer = told
        return question.points(self.offer).decode(answer.words).ravel().tolist()

    def close(self):
        self.kept.close()
        for folder in self.open_folders:
            folder.__exit__()


@pytest.fixture
def without_noise(monkeypatch):
    monkeypatch.setattr(
        "discreet.protocol.third_party.draw_noise", lambda spend, step, count, randomness: np.zeros(count, np.int64)
    )


@pytest.fixture
def net(tmp_path):
    made = Net(tmp_path)
    yield made
    made.close()
