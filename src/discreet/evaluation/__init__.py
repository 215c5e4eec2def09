"""What it is worth: splits, metrics, and reports of both. (Named so that ``dc.evaluate`` can be the function.)"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
