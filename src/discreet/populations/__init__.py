"""Who sees what: a model asks a population for sums and never sees a rating."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
