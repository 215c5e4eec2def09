"""The release at hand, and how a new one takes its place while requests run.

Requests that have begun keep the one they began with. The new one is read and made ready in a thread, and takes the
place of the old one in a single assignment; one that cannot be read changes nothing.
"""

import asyncio
import logging
import time

from discreet.errors import DiscreetError
from discreet.service.counts import Counts, resident
from discreet.service.ready import Ready, Source, Stamp

LOG = logging.getLogger("discreet.service")


class Current:
    """The release that answers now.

    Parameters
    ----------
    source
        Where releases come from.
    counts
        Where swaps are counted.
    """

    def __init__(self, source: Source, counts: Counts) -> None:
        self._source, self._counts = source, counts
        self._refused: Stamp | None = None
        self._asked = asyncio.Event()
        self.ready = Ready.load(source)
        self.stopping = False
        counts.set("loaded", time.time())

    def look_again(self) -> None:
        """Read the release again now, whether it looks changed or not."""
        self._refused = None
        self._asked.set()

    async def watch(self, seconds: float) -> None:
        """Look every few seconds whether there is a new release, and take it up; ends when it is cancelled."""
        while True:
            asked = True
            try:
                async with asyncio.timeout(seconds):
                    await self._asked.wait()
            except TimeoutError:
                asked = False
            self._asked.clear()
            self._counts.set("memory", resident())
            await self._look(asked)

    async def _look(self, asked: bool) -> None:
        try:
            stamp = self._source.stamp()
        except DiscreetError:
            return  # it is being exchanged, or was taken away: what is at hand goes on
        if not asked and stamp in (self.ready.stamp, self._refused):
            return
        try:
            found = await asyncio.to_thread(Ready.load, self._source)
        except Exception as error:  # one that is damaged, unsigned or of another model
            self._refused = stamp
            self._counts.add("swaps_failed", 1)
            LOG.error("the new release was not taken up, the one before goes on: %s", error)
            return
        self.ready = found
        self._counts.add("swaps", 1)
        self._counts.set("loaded", time.time())
        LOG.info("took up the release %s", found.name)
