"""Whether it leaks: lower bounds on epsilon, measured by attacking what a model releases."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
