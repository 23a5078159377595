-- How far a run's output has come; nothing where there is nothing to copy.
ALTER TABLE run ADD COLUMN sync TEXT;
-- Since when it is to be copied, for as long as it is not all there.
ALTER TABLE run ADD COLUMN sync_since_ms BIGINT;
CREATE INDEX run_unsaved ON run (job, attempt, role, task_index) WHERE sync_since_ms IS NOT NULL
