from .declared import Array as Array
from .priors import with_prior as with_prior
from .promises import PersonalPromise as PersonalPromise
from .promises import promised_to as promised_to
from .recommendations import Recommendations as Recommendations
from .recommendations import Suggestion as Suggestion

__all__: list[str]
