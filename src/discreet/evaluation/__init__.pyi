from .protocols import ByTime as ByTime
from .protocols import EachUser as EachUser
from .protocols import Folds as Folds
from .protocols import HeldOutUsers as HeldOutUsers
from .protocols import HoldOut as HoldOut
from .published import PublishedRanking as PublishedRanking
from .published import PublishedRatings as PublishedRatings
from .results import Results as Results
from .search import Search as Search

__all__: list[str]
