-- When a job with a maximum duration began, by a clock that nobody can set: so long after the machine was started. For a server
-- that comes after the one which saw it begin.
CREATE TABLE job_clock (
    job TEXT PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    boot_id TEXT NOT NULL,
    began_up_ms BIGINT NOT NULL
);

-- Jobs between two attempts; their time goes on.
CREATE INDEX job_between ON job (id) WHERE state = 'queued' AND attempt > 1;

-- Whom a gang waits for: asked by every task of it.
CREATE INDEX run_awaited ON run (job, attempt)
    WHERE ready_at_ms IS NULL AND state NOT IN ('running', 'succeeded', 'failed', 'stopped', 'unknown');

-- 1: a run that an operator has ended, and whose files are to stay.
ALTER TABLE leftover ADD COLUMN keeps_files BIGINT NOT NULL DEFAULT 0;
