"""
The HTTP face of documents: JSON in, JSON out, every answer with a stable code.

guard.py decides who comes in, body.py reads what they brought, answers.py speaks; the other rooms are one address each.
"""
