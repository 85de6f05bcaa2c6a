"""
The kinds of the desk: a sheet, which never merges, and a record, which merges by attribute.

A formula depends on its neighbours, so two sheets that changed different cells cannot be put together by a machine.
The attributes of a record stand for themselves; a person may take one from here and one from there.
"""

import re

import documents

CELL = re.compile(r"([A-Z]{1,2})([1-9][0-9]{0,3})")


class OnTheDesk(documents.DocumentKind):
    """Everybody who is logged in reads and writes, until their account is about to be deleted."""

    def can_read(self, user, key):
        return user.is_authenticated

    def can_write(self, user, key):
        return user.is_authenticated and user.deletion_pending_at is None

    def can_delete(self, user, key):
        return user.is_staff


@documents.register("sheet")
class Sheet(OnTheDesk):
    """`{"cells": {"A1": "12", "B1": "=A1*2"}}`: text and formulas as they were typed, numbers as numbers."""

    def clean(self, content):
        cells = content.get("cells") if isinstance(content, dict) else None
        if not isinstance(cells, dict):
            raise documents.Invalid(("/cells", "an object of cells is expected"))
        faults, kept = [], {}
        for name, value in cells.items():
            if not CELL.fullmatch(name.upper()):
                faults.append((f"/cells/{name}", "is no address of a cell, as A1"))
            elif isinstance(value, bool) or not isinstance(value, str | int | float):
                faults.append((f"/cells/{name}", "a cell holds a text or a number"))
            elif value != "":
                kept[name.upper()] = value
        if faults:
            raise documents.Invalid(*faults)
        return {**content, "cells": kept}

    def rows(self, content):
        """Compare cell by cell, column after column."""
        cells = content.get("cells", {})
        return [(f"/cells/{name}", name, str(cells[name])) for name in sorted(cells, key=place)]


@documents.register("record")
class Record(OnTheDesk):
    """`{"title": "…", "attributes": [{"id": "a1", "label": "Phone", "value": "…"}]}`."""

    merge = documents.ByAttribute("attributes")

    def clean(self, content):
        self.merge.split(content)
        faults = [
            (f"/attributes/{index}/{name}", "a text is expected")
            for index, attribute in enumerate(content.get("attributes", []))
            for name in ("label", "value")
            if not isinstance(attribute.get(name), str)
        ]
        if not isinstance(content.get("title"), str) or not content["title"].strip():
            faults.append(("/title", "a record has a title"))
        if faults:
            raise documents.Invalid(*faults)
        return content

    def rows(self, content):
        """Compare attribute by attribute, under its label."""
        values, order = self.merge.split(content)
        return [(name, *self._cell(name, values[name])) for name in order if name != "/attributes"]

    def _cell(self, name, value):
        if isinstance(value, dict):
            return value.get("label", name), value.get("value", "")
        return name[1:].replace("_", " ").capitalize(), str(value)


def place(name):
    """Return what cells are sorted by: A2 before A10, Z1 before AA1."""
    match = CELL.fullmatch(name)
    return (len(match[1]), match[1], int(match[2])) if match else (9, name, 0)
