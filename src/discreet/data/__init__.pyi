from .datasets import available as available
from .datasets import fetch as fetch
from .description import describe as describe
from .handling import Handling as Handling
from .history_file import read_history as read_history
from .labels import Labels as Labels
from .movielens import read_movielens_split as read_movielens_split
from .netflix import read_netflix_probe as read_netflix_probe
from .parts import RatingsInParts as RatingsInParts
from .report import UserReport as UserReport
from .reports import read_reports as read_reports

__all__: list[str]
