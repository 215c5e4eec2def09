"""The gallery: published systems, faithful to the letter, with their experiments and what became of their claims.

Each paper is a folder: its systems (``algorithm``), ``privacy`` what it claims and what is true, ``experiment`` its
grid and one repetition, ``claims`` what its authors say; :mod:`discreet.papers.frame` does the rest. What a paper
releases says what is *claimed*, and why it is not proven. What one should use instead is in :mod:`discreet.models`,
which knows nothing of the gallery.

>>> import discreet as dc
>>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
>>> release = dc.papers.HybridKNN(epsilon=1.0, gamma=0.5).fit(ratings)
>>> release.guarantee.proven is None, release.guarantee.claimed
(True, Loss(epsilon=1.0, delta=0.0))
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
