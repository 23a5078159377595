-- A job's hyperparameters, for lists and comparisons; jobs from before have none.
ALTER TABLE job ADD COLUMN params TEXT NOT NULL DEFAULT '{}'
