"""Discreet: a recommender system whose users' ratings stay secret.

>>> import discreet as dc
>>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
>>> train, test = ratings.split(test=0.2, seed=1)
>>> release = dc.Bias().fit(dc.NoPrivacy(train))
>>> len(release.recommend(train.history_at(0), k=2))
2
"""

import lazy_loader

__version__ = "0.1.0"

# The public names are those of __init__.pyi, loaded on first use: `import discreet` is quick and light.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
