"""
The contract under fire: servers killed, networks cut, signals, wrong clocks, poison, deploys, soak.

Each module brings up a PostgreSQL server of its own, as it is going to be killed. Workers are real processes.
"""
