"""The one form of the site: are you sure, and are you you?"""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

__all__ = ["ConfirmDeletion"]


class ConfirmDeletion(forms.Form):
    """A person confirms with their password that their account goes."""

    password = forms.CharField(
        label=_("Your password, to be sure it is you"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError(_("This is not your password."))
        return password

    def clean(self) -> dict[str, Any]:
        if self.user.legal_holds.exists():
            raise forms.ValidationError(_("This account is under a legal hold and cannot be deleted now."))
        return super().clean()
