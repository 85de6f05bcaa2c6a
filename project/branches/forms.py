"""The one question before a reset."""

import re

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

__all__ = ["ConfirmReset"]


class ConfirmReset(forms.Form):
    """The name of the branch, typed; and the key that the page was given, so that a double click is one reset."""

    key = forms.CharField(widget=forms.HiddenInput, max_length=40)
    name = forms.CharField(
        label=_("Type the branch's id to confirm"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def clean_key(self) -> str:
        key = self.cleaned_data["key"]
        if not re.fullmatch(r"[0-9a-f-]{36}", key):
            raise forms.ValidationError(_("This page is broken. Load it again."))
        return key

    def clean_name(self) -> str:
        if self.cleaned_data["name"].strip() != settings.NEON_BRANCH_ID:
            raise forms.ValidationError(_("That is not the branch's id. Nothing was done."))
        return settings.NEON_BRANCH_ID
