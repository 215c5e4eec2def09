from .export import export_release as export_release
from .loss import PrecisionLoss as PrecisionLoss
from .loss import precision_loss as precision_loss
from .one_page import export_page as export_page

__all__: list[str]
