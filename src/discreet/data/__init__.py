"""What there is: ratings, the public catalogue, one user's history, and where data sets come from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
