"""Audits: every row of large tables, in parts that survive interruptions."""
