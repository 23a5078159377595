-- Which commit a run's code is, if it came from git, and which its job's tasks get that start later.
ALTER TABLE run ADD COLUMN commit_id TEXT;
ALTER TABLE job ADD COLUMN commit_id TEXT
