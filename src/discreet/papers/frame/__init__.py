"""What all papers share, so that a paper writes its algorithm, its privacy, its grid and its claims, and nothing else.

========================  ==========================================================================================
:mod:`.cases`             a case is one setting; a grid says which settings are tried, fully or quickly
:mod:`.paper`             what a paper hands in: see :class:`~discreet.papers.frame.paper.Paper`
:mod:`.repetitions`       every case once a seed, kept on disk, so that a run that was stopped goes on
:mod:`.outcome`           what came out, with intervals over the repetitions
:mod:`.judges`            whether a line rises, is flat, is close …: pure functions of numbers, each with its tolerance
:mod:`.claims`            what the paper says, of which data, and whether it holds here
:mod:`.figures`           its figures, drawn again
:mod:`.printed`           its tables, theirs beside ours
:mod:`.report`            all of it as one JSON document, and back
:mod:`.pages`             as an HTML page, and as a page of the documentation
========================  ==========================================================================================
"""
