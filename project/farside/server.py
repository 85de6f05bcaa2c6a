"""
One far side as a process of its own: `python -m project.farside.server stripe|s3`.

It binds a free loopback port itself (so nobody can take it in between), prints that port as its first line, and
lives exactly as long as its standard input stays open: however the parent dies, the pipe closes and so do we.
"""

import os
import sys
import threading


def serve_stripe() -> None:
    """
    Serve localstripe, with its store in memory only.

    As shipped it listens on all interfaces and pickles its store to a file that all its processes share.
    """
    import asyncio

    from aiohttp import web
    from localstripe import server
    from localstripe.resources import Store

    Store.dump_to_disk = lambda self: None

    async def serve() -> None:
        runner = web.AppRunner(server.app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        announce(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(serve())


def serve_s3() -> None:
    """Serve moto's S3."""
    import logging

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    announce(server.server_port)
    server.serve_forever()


def announce(port: int) -> None:
    print(port, flush=True)


def end_with_the_parent() -> None:
    # os.read, not sys.stdin: a reader that holds the stream's lock makes an ordinary exit abort.
    while os.read(0, 1024):
        pass
    os._exit(0)


SERVERS = {"stripe": serve_stripe, "s3": serve_s3}

if __name__ == "__main__":
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    SERVERS[sys.argv[1]]()
