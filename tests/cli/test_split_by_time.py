"""``--split time`` and ``--split last``, and the metrics beside NDCG and recall."""

import json

DATA = ("popularity", "bias", "synthetic")


def test_both_ways(discreet):
    for way, words in (("time", "the last 10% of all ratings"), ("last", "the last 10% of each user's ratings")):
        outcome = discreet(
            "evaluate", *DATA, "--split", way, "--metrics", "hit@10,mrr@10,coverage@10,novelty@10", "--json"
        )
        assert outcome.code == 0, outcome.err
        document = json.loads(outcome.out)
        assert words in document["split"]
        for row in document["rows"]:
            assert set(row["metrics"]) == {"hit@10", "mrr@10", "coverage@10", "novelty@10"}
            assert 0 < row["metrics"]["hit@10"]["mean"] <= 1 and row["metrics"]["novelty@10"]["mean"] > 0


def test_the_promise_is_about_a_split_by_time(discreet):
    private = ("evaluate", "popularity", "synthetic", "--epsilon", 1, "--metrics", "ndcg@10")
    by_time = discreet(*private, "--split", "time").out
    assert "one part of a split by time" in by_time and "random" not in by_time
    assert "one part of a random split" in discreet(*private, "--test", 0.1).out


def test_what_does_not_go_together(discreet, table):
    assert "--split must be time or last" in discreet("evaluate", *DATA, "--split", "random").err
    assert "--split goes by time" in discreet("evaluate", *DATA, "--split", "time", "--folds", 3).err
    refused = discreet("evaluate", "bias", table, "--scale", "1:5", "--split", "time")
    assert refused.code == 2 and "have no times to split by" in refused.err
    assert "did you mean 'hit@10'" in discreet("evaluate", *DATA, "--metrics", "hits@10").err
