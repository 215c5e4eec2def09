"""Ratings on an Apache Spark cluster: summed, recommended from and evaluated where they lie (extra ``spark``)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
