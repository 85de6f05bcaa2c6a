"""Addresses of the accounts."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from . import views

urlpatterns = [
    path("", views.home, name="home"),
    path("sign-in/", LoginView.as_view(template_name="accounts/sign-in.html"), name="login"),
    path("sign-out/", LogoutView.as_view(), name="logout"),
    path("account/delete/", views.delete_account, name="delete-account"),
    path("account/deletion/<str:token>/", views.progress, name="progress"),
]
