"""What an audit found, as a page."""

from pathlib import Path

from discreet.audit.results import Audit
from discreet.pages.audits import pictures_of_audit
from discreet.pages.page import Facts, Pictures, Text, write_page


def write_audit(found: Audit, path: Path, command: str = "") -> None:
    """The audit as one page, and the command to do it again."""
    measured = {"measured, at least": f"{found.epsilon_low:.3g}"}
    if found.proven is not None:
        measured["proven"] = f"{found.proven.epsilon:.3g}"
    if found.mu is not None and found.mu_proven is not None:
        measured |= {"mu, measured": f"{found.mu.estimate:.3g}", "mu, by the ledger": f"{found.mu_proven:.3g}"}
    write_page(
        path,
        title=f"Audit of {found.model} on {found.data}",
        lead=str(found),
        sections=[
            Facts(facts=measured),
            Pictures(title="Can the two be told apart?", pictures=pictures_of_audit(found), lead=True),
            Text(
                title="What this says, and what it does not",
                paragraphs=(
                    "An audit attacks. What it finds is true with the stated confidence; that it finds nothing proves "
                    "nothing, for a better attack or another canary might. What is proven is proven by the ledger.",
                    "Everything that was fitted for the audit was thrown away, and no budget was charged.",
                ),
            ),
            *([Text(title="Do it again", code=command)] if command else []),
        ],
    )
