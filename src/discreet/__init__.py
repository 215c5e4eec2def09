"""Discreet: a recommender system whose users' ratings stay secret.

>>> import discreet as dc
>>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
>>> train, test = ratings.split(test=0.2, seed=1)
>>> release = dc.Bias().fit(dc.NoPrivacy(train))
>>> len(release.recommend(train.history_at(0), k=2))
2
"""

import os
import sys

_name = os.path.basename(sys.argv[0]).removesuffix(".exe") if sys.argv else ""  # noqa: PTH119  (pathlib takes 10 ms)
if _name == "discreet" or (_name == "-m" and "discreet" in sys.orig_argv[1:3]):
    # The command is loading: Ctrl-C ends it without a traceback. `discreet.cli.main` takes over from here.
    import _signal

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))

import lazy_loader  # noqa: E402

__version__ = "0.2.0.dev0"

# The public names are those of __init__.pyi, loaded on first use: `import discreet` is quick and light.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
