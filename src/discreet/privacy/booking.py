"""How a population pays from an account: before anything is computed, in one line of the account.

a plan was reserved     the line holds it whole, and each sum must be the next one of the plan
otherwise               the line grows with every sum
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.errors import OverspentError, require, require_type
from discreet.looks import Look
from discreet.privacy.budget import Budget, Reservation
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend

if TYPE_CHECKING:
    from discreet.privacy.fingerprint import Sketch

PURPOSE = "sums that a program asked for"


class Booking:
    """One line of one account.

    Parameters
    ----------
    budget, account
        Who pays.
    sketch
        Makes a sketch of the ratings from the key of the budget; it is kept with the account, so that they are known
        again. Called once, when something is booked.
    """

    def __init__(self, budget: Budget, account: str, sketch: "Callable[[bytes], Sketch] | None" = None) -> None:
        require_type(budget, Budget, "budget must be a Budget, for example Budget('budget.sqlite')")
        named = isinstance(account, str) and bool(account.strip()) and account.isprintable() and len(account) <= 1000
        require(named, "account must be the name of an account, for example 'films'")
        self.budget, self.account = budget, account
        self.place = ""
        self._sketch = sketch
        self._line: Reservation | None = None
        self._plan: tuple[Spend, ...] | None = None

    @property
    def looks(self) -> tuple[Look, ...]:
        """The unpaid looks that are written down on the account."""
        return self.budget.looks(self.account)

    def reserve(self, plan: Ledger, purpose: str, *, settings: str = "", run_id: str | None = None) -> Reservation:
        """Book a whole plan; raises where that would overspend."""
        require(self._line is None, "this population has booked before: make another for another fit")
        self._line = self.budget.reserve(self.account, plan, purpose, settings=settings, run_id=run_id)
        self._plan = plan.spends
        self._remember()
        return self._line

    def pay(self, ledger: Ledger, spend: Spend) -> None:
        """Book one more sum, after what ``ledger`` holds; raises where that would overspend."""
        after = (*ledger.spends, spend)
        if self._plan is not None:
            if self._plan[: len(after)] != after:
                raise OverspentError(
                    "the model looked at the ratings in another way than was booked; nothing was released"
                )
            return
        grown = ledger.fresh()
        grown.charge(*after)  # what the ledger itself refuses is not booked
        if self._line is None:
            self._line = self.budget.reserve(self.account, grown, PURPOSE)
            self._remember()
        else:
            self.budget.extend(self._line, grown, PURPOSE)

    def _remember(self) -> None:
        if self._sketch is not None:
            self.budget.remember(self.account, self._sketch(self.budget.key()), self.place)
