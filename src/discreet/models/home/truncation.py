"""Shorter lists of neighbours, for small devices: post-processing of a release, which costs no privacy."""

from dataclasses import replace

import numpy as np

from discreet.doors import checked
from discreet.errors import InputError, require_whole
from discreet.kernels.neighbours import nearest
from discreet.models.home.lists import check_width
from discreet.releases.releasable import UNCHECKED, with_note_on_replay
from discreet.releases.release import HERE, Release


@checked
def truncated(release: Release, neighbours: int) -> Release:
    """The same release with only the ``neighbours`` most similar items of each item.

    For every model that releases similarities between items: ``Cosine``, ``Pearson``, ``PNBM``, ``NoisyPNBM``,
    ``LangevinPNBM``, ``NeighbourList``, and ``CovarianceKNN`` in the form ``neighbours``. It predicts, ranks and
    explains as before, from what is left; ratings are not needed, and the guarantee stays the same.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> release = dc.PNBM().fit(dc.NoPrivacy(ratings))
    >>> dc.truncated(release, 10).arrays["similarities"].shape
    (100, 10)
    """
    require_whole("neighbours", neighbours, least=1)
    release.require_unchanged("nothing was truncated")
    arrays = dict(release.arrays)
    if "similarities" not in arrays:
        raise InputError(f"{type(release.model).__name__} released no similarities that could be truncated")
    check_width(neighbours, len(release.catalogue))
    similarities, lists = arrays["similarities"], arrays.get("neighbours")
    if similarities.shape[1] <= neighbours:
        return release
    chosen, arrays["similarities"] = nearest(similarities.copy(), neighbours)
    arrays["neighbours"] = chosen if lists is None else np.take_along_axis(lists, chosen, axis=1)
    sources = {**release.sources, "neighbours": release.sources.get("similarities", ())}
    guarantee = with_note_on_replay(release.guarantee, UNCHECKED)
    return replace(release, arrays=arrays, sources=sources, guarantee=guarantee, made=HERE)
