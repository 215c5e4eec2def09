"""evaluate and compare, against sums done by hand."""

import dataclasses
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dc
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError, InputError, UnknownNameError
from discreet.evaluation import comparison, memory
from discreet.evaluation.metric_names import RANKING_METRICS, RATING_METRICS
from discreet.names import every_kind
from discreet.releases import scorer as scorer_module
from discreet.releases.release import HERE, Release

RATINGS = dc.synthetic(users=80, items=50, ratings=1600, seed=2)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A model whose scores are written down: the score of item i is ``scores[i]``, the prediction too."""

    scores: tuple[float, ...]

    def fit(self, population, progress=None):
        return Release(self, {}, population.catalogue, population.guarantee)

    def score(self, release, histories):
        return np.tile(np.array(self.scores, dtype=np.float32), (histories.n_users, 1))

    def predict(self, release, histories, users, items):
        return np.array(self.scores, dtype=np.float32)[items]


@dataclass(frozen=True, kw_only=True)
class Ranker:
    """The same, but it only ranks."""

    scores: tuple[float, ...]

    fit = Table.fit
    score = Table.score


def tiny(pairs: dict[tuple[int, int], float], users: int = 2, items: int = 4) -> Ratings:
    catalogue = Catalogue.of([str(item) for item in range(items)], Scale(1, 5))
    labels = Labels.of([str(user) for user in range(users)], what="user")
    rows = np.array(list(pairs), dtype=np.int32).reshape(-1, 2)
    return Ratings.of_columns(catalogue, labels, rows[:, 0], rows[:, 1], list(pairs.values()))


TRAIN = tiny({(0, 0): 5, (1, 3): 1})
TEST = tiny({(0, 1): 5, (0, 3): 2, (1, 2): 2})
RELEASE = Table(scores=(4.0, 3.0, 2.0, 1.0)).fit(dc.NoPrivacy(TRAIN))


def test_evaluate_by_hand():
    results = dc.evaluate(RELEASE, TRAIN, TEST, metrics=["rmse", "mae", "within 0.5", "within 1", "ndcg@2", "recall@2"])
    # Errors: 3 − 5, 1 − 2, 2 − 2.
    assert results["rmse"] == pytest.approx(math.sqrt(5 / 3))
    assert results["mae"] == pytest.approx(1.0)
    assert results["within 0.5"] == pytest.approx(1 / 3)
    assert results["within 1"] == pytest.approx(2 / 3)
    # User 0 is offered items 1, 2 and wants 1, 3; user 1 is offered 0, 1 and wants 2.
    assert results["recall@2"] == pytest.approx((1 / 2 + 0) / 2)
    assert results["ndcg@2"] == pytest.approx((1 / (1 + 1 / math.log2(3)) + 0) / 2)
    assert results.interval == "95 % intervals over the users of one split (normal)"


def test_mask_moves_places():
    results = dc.evaluate(RELEASE, TRAIN, TEST, mask=tiny({(0, 2): 3, (1, 0): 3}), metrics=["recall@2"])
    assert results["recall@2"] == pytest.approx((2 / 2 + 1 / 1) / 2)


def test_users_without_held_out_ratings_do_not_count():
    train, test = tiny({(0, 0): 5, (1, 0): 5, (2, 3): 1}, users=3), tiny({(0, 1): 5, (2, 0): 2}, users=3)
    results = dc.evaluate(RELEASE, train, test, metrics=["recall@1"])
    assert results["recall@1"] == 1.0


def test_the_cdf_is_kept():
    cdf = dict(dc.evaluate(RELEASE, TRAIN, TEST).rows[0].cdf)
    assert len(cdf) == 81
    assert (cdf[0.0], cdf[1.0], cdf[2.0], cdf[4.0]) == pytest.approx((1 / 3, 2 / 3, 1, 1))
    assert list(cdf.values()) == sorted(cdf.values())


def test_a_model_that_only_ranks():
    release = Ranker(scores=(4.0, 3.0, 2.0, 1.0)).fit(dc.NoPrivacy(TRAIN))
    results = dc.evaluate(release, TRAIN, TEST)
    assert results.metric_names == RANKING_METRICS
    assert results.rows[0].cdf == ()
    with pytest.raises(InputError, match="ranks items and does not predict ratings, so rmse cannot be measured"):
        dc.evaluate(release, TRAIN, TEST, metrics=["rmse"])


def test_batches_change_nothing(monkeypatch):
    train, test = RATINGS.split(test=0.2, seed=1)
    release = dc.Bias().fit(dc.NoPrivacy(train))
    whole = dc.evaluate(release, train, test).rows[0].metrics
    monkeypatch.setattr(scorer_module, "BATCH_CELLS", 7 * 50)
    assert dc.evaluate(release, train, test).rows[0].metrics == whole


def test_evaluate_agrees_with_recommend():
    train, test = RATINGS.split(test=0.3, seed=4)
    release = dc.Popularity().fit(dc.NoPrivacy(train))
    found = []
    for user in range(test.n_users):
        wanted = {test.catalogue.items[item] for item in test.history_at(user).items}
        if wanted:
            offered = {suggestion.item for suggestion in release.recommend(train.history_at(user), k=5)}
            found.append(len(wanted & offered) / min(5, len(wanted)))
    assert dc.evaluate(release, train, test, metrics=["recall@5"])["recall@5"] == pytest.approx(np.mean(found))


def test_folds_by_hand():
    results = dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.Folds(count=3, seed=1), data="made up")
    each = []
    for train, test in RATINGS.folds(3, seed=1):
        predicted = dc.Bias().fit(dc.NoPrivacy(train)).predict(train, test.user_index, test.item_index)
        each.append(float(np.sqrt(np.mean((predicted.astype(float) - test.values) ** 2))))
    assert results["rmse"] == pytest.approx(np.mean(each))
    assert results.rows[0].metrics["rmse"].values == pytest.approx(each)
    assert (results.data, results.split) == ("made up", "3 folds of all ratings, seed 1")
    assert results.interval == "95 % intervals over 3 folds (Student t)"


def test_defaults_follow_the_protocol():
    both = {"bias": dc.Bias(), "popularity": dc.Popularity()}
    assert dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.HoldOut()).metric_names == RATING_METRICS
    assert dc.compare(both, RATINGS, dc.evaluation.EachUser()).metric_names == RANKING_METRICS
    assert dc.compare(both, RATINGS, dc.evaluation.HeldOutUsers()).metric_names == RANKING_METRICS
    mixed = dc.compare(both, RATINGS, dc.evaluation.HoldOut())
    assert mixed.metric_names == RATING_METRICS + RANKING_METRICS
    assert tuple(mixed["popularity"].metrics) == RANKING_METRICS
    asked = dc.compare(both, RATINGS, dc.evaluation.EachUser(repeats=2), metrics=["recall@5", "rmse"])
    assert tuple(asked["bias"].metrics) == ("recall@5", "rmse")
    assert asked.interval == "95 % intervals over 2 seeds (Student t)"


def test_json_of_a_comparison():
    models = {"bias": dc.Bias(), "popularity": dc.Popularity()}
    results = dc.compare(models, RATINGS, dc.evaluation.Folds(count=2))
    document = json.loads(json.dumps(results.to_json(), allow_nan=False))
    assert set(document) == {"data", "split", "rows"}
    for row in document["rows"]:
        assert {"epsilon", "promise", "unit", "guarantee"} < set(row)
        assert {"model", "metrics", "fit_seconds", "predict_seconds", "peak_memory_mb"} < set(row)
        assert row["guarantee"] is None
        assert row["fit_seconds"] >= 0
        assert row["predict_seconds"] > 0
        for estimate in row["metrics"].values():
            assert estimate["low"] <= estimate["mean"] <= estimate["high"]
    assert results["bias"].settings == {"item_damping": 5.0, "user_damping": 5.0}


def test_progress_grows_to_the_end():
    calls = []
    dc.compare(
        {"bias": dc.Bias(), "again": dc.Bias()},
        RATINGS,
        dc.evaluation.Folds(count=2),
        progress=lambda *call: calls.append(call),
    )
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][:2] == (400, 400)
    assert any("bias, fold 2 of 2" in call[2] for call in calls)


def test_same_seed_same_report():
    first, second = (dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.Folds(count=2, seed=3)) for _ in range(2))
    assert first.rows[0].metrics == second.rows[0].metrics


@pytest.mark.parametrize(
    ("promise", "kind", "said"),
    [
        ({}, None, None),
        ({"proven": dc.privacy.Loss(1.0), "unit": dc.User()}, "proven", "Proven: whoever sees this release"),
        ({"claimed": dc.privacy.Loss(1.0), "unit": dc.User()}, "claimed", "Claimed, not proven: epsilon 1"),
    ],
)
def test_what_is_promised_is_said(promise, kind, said):
    release = dataclasses.replace(RELEASE, guarantee=dc.Guarantee(reason="so it is", **promise), made=HERE)
    row = dc.evaluate(release, TRAIN, TEST).to_json()["rows"][0]
    assert row["promise"] == kind
    assert row["guarantee"] is said is None or row["guarantee"].startswith(said)
    assert (row["epsilon"], row["unit"]) == ((1.0, "user") if promise else (None, None))


UNITS = [dc.Terms(epsilon=epsilon, unit="user") for epsilon in (1.0, 10.0)]


def test_several_terms_at_once():
    """Whoever has a private form appears on all terms, others only without privacy, a paper with what it claims."""
    models = {"popularity": dc.Popularity(), "mf": dc.MF(epochs=1), "paper": dc.papers.HybridKNN(prediction="average")}
    results = dc.compare(
        models, RATINGS, dc.evaluation.HoldOut(seed=1), terms=[*UNITS, dc.Terms()], metrics=["rmse", "ndcg@10"]
    )
    assert [(row.model, row.epsilon, row.promise, row.unit) for row in results.rows] == [
        ("popularity", 1.0, "proven", "user"),
        ("popularity", 10.0, "proven", "user"),
        ("popularity", None, None, None),
        ("mf", None, None, None),
        ("paper", 1.0, "claimed", "rating"),
        ("paper", 10.0, "claimed", "rating"),
        ("paper", None, None, None),
    ]
    assert (results.epsilons, results.models) == ((1.0, 10.0), ("popularity", "mf", "paper"))
    assert list(results.at(1.0)) == ["popularity", "paper"]
    assert results.at(None)["mf"]["rmse"] > 0
    assert results["mf"]["rmse"] == results.at(None)["mf"]["rmse"]
    assert "popularity, epsilon 10" in str(results)
    assert results.to_frame()["epsilon"].to_list() == [1.0, 10.0, None, None, 1.0, 10.0, None]
    with pytest.raises(InputError, match=r"several epsilons: write results.at\(1.0\)\['popularity'\]"):
        results["popularity"]
    with pytest.raises(InputError, match="was fitted with epsilon 3; there are 1, 10"):
        results.at(3)


def test_the_same_numbers_as_with_one_kind_of_terms():
    seeded = [dc.Terms(epsilon=epsilon, noise_seed=1) for epsilon in (1.0, 10.0)]
    together = dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.Folds(count=2), terms=seeded)
    for terms in seeded:
        alone = dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.Folds(count=2), terms=terms)
        assert together.at(terms.epsilon)["rmse"] == alone["rmse"]
        assert (alone.rows[0].epsilon, alone.rows[0].promise) == (terms.epsilon, None)  # seeded noise promises nothing


def test_terms_that_a_model_cannot_keep():
    with pytest.raises(InputError, match=r"mf has no private form for what is asked: leave it out, or add Terms\(\)"):
        dc.compare({"mf": dc.MF()}, RATINGS, dc.evaluation.HoldOut(), terms=UNITS)
    for wrong in ([], "1", [1.0]):
        with pytest.raises(InputError, match="terms must be Terms"):
            dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.HoldOut(), terms=wrong)


def test_what_asks_for_nothing_is_fitted_once_and_costs_nothing():
    results = dc.compare({"own-taste": dc.OwnTaste()}, RATINGS, dc.evaluation.HoldOut(), terms=[*UNITS, dc.Terms()])
    assert [(row.epsilon, row.promise) for row in results.rows] == [(0.0, "proven")]


def test_the_same_terms_twice_are_asked_for_once():
    results = dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.HoldOut(), terms=[UNITS[0], UNITS[0]])
    assert len(results.rows) == 1


def test_progress_over_several_terms():
    calls = []
    dc.compare(
        {"popularity": dc.Popularity()},
        RATINGS,
        dc.evaluation.HoldOut(repeats=2),
        terms=[*UNITS, dc.Terms()],
        progress=lambda *call: calls.append(call),
    )
    done = [call[0] for call in calls]
    assert done == sorted(done) and calls[-1][:2] == (600, 600)
    assert any(call[2].startswith("popularity, epsilon 10, seed 2 of 2") for call in calls)


@pytest.mark.parametrize("name", ["rms", "ndcg", "ndcg@", "ndcg 10", "hits@10", "within", "mae@3", ""])
def test_unknown_metrics(name):
    with pytest.raises(UnknownNameError, match="there is no metric"):
        dc.evaluate(RELEASE, TRAIN, TEST, metrics=[name])


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["ndcg@0"], "a metric's k must be at least 1, got 'ndcg@0'"),
        (["recall@-1"], "a metric's k must be at least 1, got 'recall@-1'"),
        (["recall@x"], "a metric's k must be a whole number, as in ndcg@10, got 'recall@x'"),
        (["recall@2.5"], "a metric's k must be a whole number"),
        ([10], "metrics must be a list of names, for example \\['rmse'\\], got int"),
        (10, "metrics must be a list of names"),
        (["within -1"], "'within' needs a positive number after it, got 'within -1'"),
        (["within much"], "'within' needs a positive number"),
        ([], "metrics must be a list of names"),
        ("rmse", "metrics must be a list of names"),
    ],
)
def test_metrics_that_make_no_sense(metrics, message):
    with pytest.raises(InputError, match=message):
        dc.evaluate(RELEASE, TRAIN, TEST, metrics=metrics)


def test_seen_ratings_cannot_be_ranked_but_can_be_predicted():
    with pytest.raises(InputError, match="some held-out ratings are also in the histories"):
        dc.evaluate(RELEASE, TRAIN, TRAIN)
    assert dc.evaluate(RELEASE, TRAIN, TRAIN, metrics=["mae"])["mae"] == pytest.approx(0.5)


def test_what_cannot_be_evaluated():
    with pytest.raises(InputError, match="nothing to test on"):
        dc.evaluate(RELEASE, TRAIN, tiny({}))
    with pytest.raises(InputError, match="the same users in the same order"):
        dc.evaluate(RELEASE, TRAIN, tiny({(0, 1): 3}, users=3))
    with pytest.raises(InputError, match="at least one model"):
        dc.compare({}, RATINGS, dc.evaluation.Folds())
    with pytest.raises(DiscreetError, match="no finite number"):
        dc.evaluate(Table(scores=(math.nan,) * 4).fit(dc.NoPrivacy(TRAIN)), TRAIN, TEST)


def test_a_model_is_no_release():
    with pytest.raises(InputError, match=r"evaluate takes what a fit returned: write model\.fit\(.*got Cosine$"):
        dc.evaluate(dc.Cosine(), TRAIN, TEST)
    with pytest.raises(InputError, match="histories must be Ratings, got str"):
        dc.evaluate(RELEASE, "ml-100k", TEST)
    with pytest.raises(InputError, match="test must be Ratings, got NoneType"):
        dc.evaluate(RELEASE, TRAIN, None)
    with pytest.raises(InputError, match="mask must be Ratings, got History"):
        dc.evaluate(RELEASE, TRAIN, TEST, mask=TRAIN.history_at(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([dc.Bias()], RATINGS, dc.evaluation.Folds()), "models must be a dictionary of names and models.* got list"),
        (({"bias": dc.Bias}, RATINGS, dc.evaluation.Folds()), "'bias' is no model: give one with its settings"),
        (({"bias": "bias"}, RATINGS, dc.evaluation.Folds()), "'bias' is no model"),
        (({"bias": RELEASE}, RATINGS, dc.evaluation.Folds()), "'bias' is no model"),
        (({"bias": dc.Bias()}, "ml-100k", dc.evaluation.Folds()), "compare takes Ratings.* got str"),
        (({"bias": dc.Bias()}, RATINGS, 5), r"protocol must be Folds\(\), HoldOut"),
        (({"bias": dc.Bias()}, RATINGS, dc.evaluation.Folds), r"protocol must be Folds\(\), HoldOut"),
    ],
)
def test_what_cannot_be_compared(arguments, message):
    with pytest.raises(InputError, match=message):
        dc.compare(*arguments)
    with pytest.raises(InputError, match=r"terms must be Terms.* got float"):
        dc.compare({"bias": dc.Bias()}, RATINGS, dc.evaluation.Folds(), terms=1.0)


# ── Getting ready, so that times leave out the compilation ──


@pytest.mark.parametrize("name", every_kind())
def test_every_model_gets_ready(name):
    quiet = {"epsilon": None} if name == "paper:untrusted" else {}  # with noise, training by so few overflows
    assert comparison._warm_up(every_kind()[name](**quiet), dc.Terms())


@pytest.mark.parametrize("name", ["bias", "popularity"])
def test_private_forms_get_ready_too(name):
    assert comparison._warm_up(every_kind()[name](), dc.Terms(epsilon=1.0))


def test_a_model_that_knows_another_catalogue_only_is_compared_all_the_same():
    model, ratings = Table(scores=(4.0, 3.0, 2.0, 1.0)), tiny({(user, item): 5 for user in (0, 1) for item in range(4)})
    assert not comparison._warm_up(model, dc.Terms())
    assert dc.compare({"table": model}, ratings, dc.evaluation.HoldOut(test=0.5))["rmse"] > 0


@dataclass(frozen=True)
class Broken(Table):
    scores: tuple[float, ...] = ()

    def fit(self, population, progress=None):
        return Release(self, {}, population.catalogue, population.garantee)


def test_a_mistake_in_a_model_is_not_swallowed():
    with pytest.raises(AttributeError, match="garantee"):
        comparison._warm_up(Broken(), dc.Terms())


def test_memory_is_told_or_unknown_but_never_fails(monkeypatch, tmp_path):
    memory.restart_peak_memory()
    assert memory.peak_memory_mb() > 10
    monkeypatch.setattr(memory, "_CLEAR", tmp_path / "missing" / "clear_refs")
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "missing" / "status")
    memory.restart_peak_memory()
    told = memory.peak_memory_mb()
    assert told is None or told > 10


def test_peak_memory_sees_a_large_array_that_is_gone():
    try:
        memory._CLEAR.write_text("5")
    except OSError:
        pytest.skip("this system does not let a process forget its peak memory")
    memory.restart_peak_memory()
    before = memory.peak_memory_mb()
    np.ones(30_000_000).sum()  # 240 MB, freed at once
    assert memory.peak_memory_mb() > before + 150
    memory.restart_peak_memory()
    assert memory.peak_memory_mb() < before + 150


def test_auto_is_what_the_rule_chooses_for_each_of_the_terms():
    terms = [dc.Terms(epsilon=1.0, unit="user"), dc.Terms(epsilon=10.0, unit="user"), dc.Terms()]
    models = {"rule": "auto", "own-taste": dc.OwnTaste()}
    asked = {"terms": terms, "metrics": ["rmse"], "audience": 6, "purpose": "ratings"}
    results = dc.compare(models, RATINGS, dc.evaluation.HoldOut(), **asked)
    found = {row.epsilon: row for row in results.rows if row.model == "rule"}
    assert {epsilon: row.chosen for epsilon, row in found.items()} == {1: "own-taste", 10: "almanac", None: "almanac"}
    assert found[10].settings["purpose"] == "ratings" and "about 6 users" in found[10].reason
    assert results.at(1.0)["rmse"] == results["own-taste"]["rmse"]
    assert len(results.choices) == 3 and all(sentence in str(results) for sentence in results.choices)
    assert "OwnTaste goes by one" in results._repr_html_()


def test_auto_alone_and_for_a_data_set_whose_users_are_published():
    alone = dc.compare({"auto": "auto"}, RATINGS, dc.evaluation.HoldOut(), data="ml-100k")
    assert alone.rows[0].chosen == "almanac" and set(RATING_METRICS) <= set(alone)
    assumed = dc.compare({"auto": "auto"}, RATINGS, dc.evaluation.HoldOut(), terms=dc.Terms(epsilon=1.0))
    assert "about 1,000 users" in assumed.rows[0].reason
    with pytest.raises(InputError, match="audience must be at least 1"):
        dc.compare({"auto": "auto"}, RATINGS, dc.evaluation.HoldOut(), audience=0)
