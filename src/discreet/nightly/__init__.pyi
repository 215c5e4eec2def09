from .everyone import Night as Night
from .everyone import recommend_all as recommend_all

__all__: list[str]
