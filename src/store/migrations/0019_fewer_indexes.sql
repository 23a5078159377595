-- A short task lives in a few milliseconds, and every index it goes through is a page more that its ending has to bring to the disk.
DROP INDEX run_live_of;
DROP INDEX run_awaited;
DROP INDEX run_rest;
DROP INDEX run_good;
DROP INDEX run_by_end;
DROP INDEX run_live;
-- Who lives; and, read along it, whom a gang waits for.
CREATE INDEX run_live ON run (job, attempt, role, task_index, ready_at_ms) WHERE state NOT IN ('succeeded', 'failed', 'stopped', 'unknown');
-- Who is over and has not succeeded.
CREATE INDEX run_bad ON run (job, job_attempt, end_order) WHERE state IN ('failed', 'stopped', 'unknown');
-- The last number says how many have ended.
CREATE INDEX run_by_end ON run (job, job_attempt, end_order) WHERE end_order IS NOT NULL
