"""At home: a user's own code and scores from the released weights of an autoencoder, in numpy alone."""

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.autoencoder import scores_of
from discreet.models.home.fold_in import row_sums
from discreet.releases.release import Release
from discreet.types import Floats


def network_scores(release: Release, histories: Ratings, *, variational: bool) -> Floats:
    """Encode who rated what, and decode: the logit of every item. Users without ratings get the empty row's."""
    sums = row_sums(histories, release.arrays["input_weights"])
    sums /= np.sqrt(np.maximum(np.diff(histories.indptr), 1), dtype=np.float32)[:, None]
    return scores_of(dict(release.arrays), sums, variational=variational)
