"""
The bench: the same durable work done by us, by the floors and by the peers, interleaved in one run.

Ratios are the result. An absolute number belongs to one machine on one day; see README.md in this folder.
"""
