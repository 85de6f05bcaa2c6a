"""`manage.py demo`: an account deletion, killed half-way, finishes from its receipts."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from project.demo.children import stop_on_signals
from project.demo.ready import require_database, require_development
from project.demo.show import show
from project.demo.stage import StageError
from project.demo.story import StoryError, tell
from project.farside import FarSideError


class Command(BaseCommand):
    help = "Delete an account whose worker is killed half-way; finish it from its receipts; check everything."

    def handle(self, *args: Any, **options: Any) -> None:
        require_development()
        require_database()
        stop_on_signals()
        drawn = show()
        try:
            all_true = tell(drawn)
        except FarSideError as error:
            raise CommandError(str(error), returncode=2) from None
        except (StageError, StoryError) as error:
            raise CommandError(str(error), returncode=1) from None
        except KeyboardInterrupt:
            message = "Stopped. The servers and the worker are stopped too."
            raise CommandError(message, returncode=130) from None
        if not all_true:
            message = "Something above is WRONG."
            raise CommandError(message, returncode=1)
        drawn.say("All of it was checked. To look at the run: `make serve`, then http://127.0.0.1:8000/admin/")
        drawn.say("(user demo, password demo).")
