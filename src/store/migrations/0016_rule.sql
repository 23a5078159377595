-- The rule that decided whether a job was tried again when it last failed, as it was applied; empty where it was written before.
ALTER TABLE job ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN rule_zh TEXT NOT NULL DEFAULT ''
