"""Kinds of the suite."""

from django.core.exceptions import ValidationError

import documents

from .models import Book, Shelf


class Open(documents.DocumentKind):
    """Every user may read and write, except a user named `stranger`, who may do nothing, and `reader`, who reads."""

    def can_read(self, user, key):
        return user.get_username() != "stranger"

    def can_write(self, user, key):
        return user.get_username() not in ("stranger", "reader")


@documents.register("note")
class Note(Open):
    def can_delete(self, user, key):
        return user.get_username() == "ada"


@documents.register("big")
class Big(Open):
    big_integers = True
    max_bytes = 5_000_000


@documents.register("tiny")
class Tiny(Open):
    max_bytes = 100

    def retry_after(self, user, key):
        return 7 if key == "tired" else None


@documents.register("second")
class Second(Open):
    schema = 2


@documents.register("trimmed")
class Trimmed(Open):
    def clean(self, content):
        if not isinstance(content, dict):
            raise documents.Invalid(("", "an object is expected"))
        if content.get("title") == "":
            raise ValidationError({"title": ["A title is needed."]})
        return {name: value.strip() if isinstance(value, str) else value for name, value in content.items()}


@documents.register("card")
class Card(Open):
    merge = documents.ByAttribute("attributes")

    def clean(self, content):
        self.merge.split(content)
        return content


@documents.register("book")
class BookKind(Open, documents.ModelKind):
    model = Book
    fields = [
        "title",
        "notes",
        "shelf",
        "price",
        "published",
        "read_at",
        "length",
        "code",
        "copies",
        "rating",
        "lent",
        "extra",
    ]
    key_field = "slug"
    can_create = True
    merge = documents.ByKey()

    def can_delete(self, user, key):
        return True


@documents.register("shelf")
class ShelfKind(Open, documents.ModelKind):
    model = Shelf
    fields = ["name"]
