"""`manage.py post_digests`: from cron, as often as you like."""

from django.core.management.base import BaseCommand

from project.notifications.digesting import post_digests


class Command(BaseCommand):
    help = "Post a digest to everybody who is due one. A worker sends them."

    def handle(self, *args, **options):
        posted, failed = post_digests()
        self.stdout.write(f"{posted} digest(s) posted, {failed} failed.")
        if failed:
            raise SystemExit(1)
