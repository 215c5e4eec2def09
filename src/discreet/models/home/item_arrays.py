"""Arrays that several models release, as they are declared (:mod:`discreet.releases.declared`)."""

from discreet.releases.declared import Array

MEAN = Array("mean", "float32", (1,))
ITEM_BIAS = Array("item_bias", "float32", ("items",))
UNKNOWN = Array("unknown", "float32", ("items",), least=0)
"""The posterior variance of each item's bias."""
COUNTS = Array("counts", "float32", ("items",), least=0)
PRIOR_SCALES = Array("prior_scales", "float32", (4,), least=0)
"""How wide the priors of users' own regressions are, relative to the usual ones."""
FEATURE_PRECISION = Array("feature_precision", "float32", (1,), least=1)
"""How many times tighter than usual users' tastes for public features are held in rankings."""
NOISY_COUNTS = Array("counts", "float32", ("items",))
"""As they were answered: noise may have made some of them negative."""
SUMS = (
    Array("noisy_sums", "float32", ("sums", "items")),
    Array("sums_noise", "float32", ("sums", "items"), least=0),
    Array("sums_kind", "float32", ("kind",), least=0),
)
"""Item sums as they were answered, their noise, and how users are weighted in them: a later fit may average them."""
LISTS = (
    Array("neighbours", "int32", ("items", "k"), below="items"),
    Array("similarities", "float32", ("items", "k")),
)
NEIGHBOUR_WEIGHTS = (
    Array("neighbours", "int32", ("items", "neighbours"), below="items"),
    Array("neighbour_weights", "float32", ("items", "neighbours")),
)
"""The item-item weights of EASE: the neighbours of each item that weigh most, and their weights."""
