-- When a run had everything it needs and waited for the others of its gang.
ALTER TABLE run ADD COLUMN ready_at_ms BIGINT
