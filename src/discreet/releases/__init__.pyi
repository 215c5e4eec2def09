from .recommendations import Recommendations as Recommendations
from .recommendations import Suggestion as Suggestion

__all__: list[str]
