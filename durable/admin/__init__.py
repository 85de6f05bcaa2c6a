"""
The operator's desk: what happened to a run, who owns it now, and what may be pressed.

    admin.site.register(AccountDeletion, RunAdmin)

One line for each kind of job. The list, the page of a run with its timeline, and the buttons follow from the shape: its
machine, its receipts, its decisions. The overview of all kinds stands at the admin's index of this app.
"""

from django.contrib import admin

from durable.models import Message, Operation, Pass, Plan

from .of_messages import MessageAdmin
from .of_operations import OperationAdmin, PassAdmin
from .of_plans import PlanAdmin
from .runs import RunAdmin

__all__ = ["MessageAdmin", "OperationAdmin", "PassAdmin", "PlanAdmin", "RunAdmin"]

admin.site.register(Message, MessageAdmin)
admin.site.register(Operation, OperationAdmin)
admin.site.register(Pass, PassAdmin)
admin.site.register(Plan, PlanAdmin)
