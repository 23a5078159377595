-- What every ending asks of a large job that is no gang is answered without a look at all of its runs.

-- It held everything that is asked about runs, so every question went through all of a job's runs in it.
DROP INDEX run_by_task;
CREATE INDEX run_by_task ON run (job, role, task_index, attempt);
-- How many tasks of a role have succeeded, and whether a certain one has.
CREATE INDEX run_good ON run (job, job_attempt, role, task_index) WHERE state = 'succeeded';
-- Who lives in one attempt.
CREATE INDEX run_live_of ON run (job, job_attempt, role, task_index, attempt) WHERE state NOT IN ('succeeded', 'failed', 'stopped', 'unknown')
