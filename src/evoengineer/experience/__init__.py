"""Experience: techniques that runs have proved, kept from one run to the next.

techniques.py   what a kernel's text does, read from the text, and what a child does that its parent did not
structure.py    what a problem and a kernel are like: kind of operation, bottleneck, access pattern
proofs.py       one technique, one child and its parent, what came of it
learning.py     proofs out of the runs of an archive
library.py      the file that keeps them
lessons.py      what a run is told of them: gains by technique and structure, and which to show
"""
