"""A browser's half of the protocol, as thin as it can be."""

import json
import uuid

from django.test import Client


class Page:
    """One open page of one user: sends what a page sends, returns status and body."""

    def __init__(self, user=None, **options):
        self.client = Client(**options)
        if user is not None:
            self.client.force_login(user)

    def send(self, method, path, body=None, **headers):
        data = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = headers.pop("content-type", "application/json")
        response = self.client.generic(method, f"/documents/{path}", data or "", content_type=kind, headers=headers)
        self.last = response
        return response.status_code, json.loads(response.content) if response.content else None

    def get(self, path="note/n/", **headers):
        return self.send("GET", path, **headers)

    def put(self, content, version, path="note/n/", *, headers=None, **more):
        body = {"expectedVersion": version, "saveId": str(uuid.uuid4()), "writer": "tab", "content": content} | more
        return self.send("PUT", path, body, **(headers or {}))

    def post(self, path, **body):
        return self.send("POST", path, {"saveId": str(uuid.uuid4())} | body)
