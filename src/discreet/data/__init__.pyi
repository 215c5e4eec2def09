from .construction import bound_users as bound_users
from .construction import keep_popular_items as keep_popular_items
from .datasets import available as available
from .datasets import fetch as fetch
from .description import describe as describe
from .handling import Handling as Handling
from .history_file import read_history as read_history
from .labels import Labels as Labels
from .loading import without_ratings as without_ratings
from .movielens import read_movielens_split as read_movielens_split
from .netflix import read_netflix_probe as read_netflix_probe
from .parts import RatingsInParts as RatingsInParts
from .report import UserReport as UserReport
from .reports import read_reports as read_reports
from .user_file import read_users as read_users
from .word_vectors import word_vectors as word_vectors

__all__: list[str]
