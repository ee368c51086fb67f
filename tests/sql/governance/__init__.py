"""Tests of the system bucket: records, derived statuses, promotion, system recall."""
