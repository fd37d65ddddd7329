"""The figures of a report, group by group and between groups."""
