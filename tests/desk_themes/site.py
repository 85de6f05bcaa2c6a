"""
A site of its own with another theme in front of the admin: `python -m tests.desk_themes.site <settings module> <SQLite file>`.

Themes are apps, and a process has one list of apps. It makes the database, puts the scenes into it, prints one line of
JSON (its address, the pages by name, a session) and serves until its standard input ends.
"""

import json
import os
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Silent(WSGIRequestHandler):
    def log_message(self, *args):
        """Say nothing of each request."""


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def main(settings, file):
    os.environ |= {"DATABASE_URL": f"sqlite:///{file}", "DJANGO_SETTINGS_MODULE": settings}
    os.environ["ALLOWED_HOSTS"] = "127.0.0.1,testserver"
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from django.test import Client

    from tests.desk.pages import pages

    call_command("migrate", run_syncdb=True, verbosity=0)
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada", "ada@example.org", "x"))
    addresses = pages()
    server = make_server("127.0.0.1", 0, get_wsgi_application(), server_class=Threaded, handler_class=Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told = {
        "url": f"http://127.0.0.1:{server.server_port}",
        "pages": addresses,
        "session": client.cookies["sessionid"].value,
    }
    print(json.dumps(told), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
