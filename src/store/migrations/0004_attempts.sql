-- Tasks that start as they fit and are tried again alone, pauses between attempts, and kept sandboxes.

-- How often it was started again without a long run between.
ALTER TABLE job ADD COLUMN used_in_a_row BIGINT NOT NULL DEFAULT 0;
-- While it waits between two attempts: when it may be placed again.
ALTER TABLE job ADD COLUMN not_before_ms BIGINT;
-- 1: its tasks start together; 0: each as it fits.
ALTER TABLE job ADD COLUMN gang BIGINT NOT NULL DEFAULT 1;
-- Jobs whose tasks start as they fit, while some of them may still wait.
CREATE INDEX job_scattered ON job (priority DESC, id) WHERE gang = 0 AND state IN ('starting', 'running');

-- The job's attempt it belongs to. The tasks of a gang count with their job; others may be started again alone.
ALTER TABLE run ADD COLUMN job_attempt BIGINT NOT NULL DEFAULT 0;
UPDATE run SET job_attempt = attempt;
-- What is to be said beside the ending: why it was stopped.
ALTER TABLE run ADD COLUMN note TEXT NOT NULL DEFAULT '';
-- The child has failed, and its sandbox stays for a while.
ALTER TABLE run ADD COLUMN kept TEXT;

-- A look at a large job that is no gang counts what has succeeded, and reads only the rest.
CREATE INDEX run_by_task ON run (job, role, task_index, job_attempt, state, attempt);
CREATE INDEX run_rest ON run (job, job_attempt) WHERE state <> 'succeeded';
CREATE INDEX run_by_end ON run (job, job_attempt, end_order)
