"""
The crash kit: what our own suite uses, for your operations.

    from durable.testing import assert_survives

    def test_an_account_deletion_survives_a_crash_anywhere(transactional_db):
        survived = assert_survives(lambda: AccountDeletion.objects.start(user_id=UserFactory().pk))
        assert survived.points > 20

Processes are killed with SIGKILL and transactions are real, so these need a database that commits: pytest's
`transactional_db`, Django's TransactionTestCase. SQLite must be a file, not memory.
"""

from .crash import Crash, crash_at_statement, in_child
from .settle import expire_leases, run_until_settled
from .survive import Survival, assert_survives

__all__ = [
    "Crash",
    "Survival",
    "assert_survives",
    "crash_at_statement",
    "expire_leases",
    "in_child",
    "run_until_settled",
]
