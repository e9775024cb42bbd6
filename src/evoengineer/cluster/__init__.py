"""Judging on a Ray cluster: the judge of `judge/protocol.py`, with builds and judging on other machines.

    pool.py       what the search talks to, in the driver's process
    gateway.py    a process of its own that is connected to Ray: whatever happens to a cluster, and Ray ends a program
                  that has lost it, the driver sees a closed pipe and ends its run cleanly
    dispatch.py   which judge gets which candidate, and what follows when one dies; knows nothing of Ray
    fleet.py      the same in Ray's terms: nodes, tasks, actors
    crew.py       what runs on a node
    address.py    how users name a cluster
    facts.py      what must be the same on every node
    parcel.py     what travels: problems and builds

Only the gateway and what it starts import Ray.
"""
