"""
Words of the chip and the panel in other languages. The script knows them in English; the tag hands over what differs.

The names are those of documents/client/ui/words.js; a test holds the two lists together.
"""

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

__all__ = ["WORDS", "differing"]

WORDS = {
    "loading": _("Loading…"),
    "clean": _("Saved"),
    "dirty": _("Unsaved changes"),
    "saving": _("Saving…"),
    "retrying": _("Not saved yet, trying again"),
    "offline": _("Offline, kept in this browser"),
    "conflict": _("Changed elsewhere, saving is paused"),
    "auth": _("Log in to save"),
    "other_user": _("Somebody else is logged in"),
    "forbidden": _("You may not save here"),
    "gone": _("Deleted elsewhere"),
    "too_large": _("Too large to be saved"),
    "invalid": _("Can’t be saved like this"),
    "schema_changed": _("This page is out of date, reload it"),
    "closed": _("closed"),
    "memory": _("No local copy: keep this tab open"),
    "behind": _("A newer version is stored"),
    "mine": _("Yours"),
    "stored": _("Stored"),
    "nothing": _("nothing"),
    "keepMine": _("Keep mine"),
    "takeStored": _("Take stored"),
    "merge": _("Merge"),
    "copy": _("Copy mine"),
    "download": _("Download mine"),
    "retry": _("Try again"),
    "login": _("Log in"),
    "discard": _("Discard mine"),
    "saveAs": _("Save as new"),
    "name": _("New name"),
    "taken": _("That name is taken."),
    "dismiss": _("Discard it"),
    "both": _("Both are kept until you decide."),
    "on": _("made on version"),
    "adopt": _("Use it"),
    "live": _("open in another tab"),
    "draft": _("Unsaved text in this browser"),
    "binned": _("Discarded lately"),
    "settled": _("Settled by"),
    "keep_stored": _("stored was kept"),
    "take_theirs": _("yours was taken"),
    "moved_on": _("It changed again. Please look once more."),
    "typed_on": _("You typed on, so nothing was discarded."),
    "not_reloaded": _("Not fetched, so nothing was discarded."),
}


def differing() -> dict[str, str]:
    """Return the words which the language of this moment says otherwise than the script does."""
    found = {name: gettext(text) for name, text in WORDS.items()}
    return {name: text for name, text in found.items() if text != WORDS[name]}
