-- Approval requests, which only go forward. `created` is in microseconds since 1970; `body` is JSON.
CREATE TABLE IF NOT EXISTS approvals(id TEXT PRIMARY KEY,state TEXT NOT NULL,session TEXT NOT NULL,created INTEGER NOT NULL,body TEXT NOT NULL)STRICT;
CREATE INDEX IF NOT EXISTS approvals_created ON approvals(created);
CREATE INDEX IF NOT EXISTS approvals_pending ON approvals(created)WHERE state='pending';
CREATE TRIGGER IF NOT EXISTS approvals_new BEFORE INSERT ON approvals BEGIN SELECT raise(ABORT,'an approval cannot be replaced')FROM approvals WHERE id=NEW.id;END;
-- An approval that nobody has used can be taken back, by a denial that says so.
CREATE TRIGGER IF NOT EXISTS approvals_forward BEFORE UPDATE ON approvals BEGIN SELECT raise(ABORT,'an approval that was decided cannot go back')WHERE NEW.id<>OLD.id OR json_extract(NEW.body,'$.state')IS NOT NEW.state OR OLD.state NOT IN('pending',NEW.state)AND OLD.state||NEW.state NOT IN('approvedused','approvedexpired')AND(OLD.state||NEW.state<>'approveddenied' OR json_extract(NEW.body,'$.taken_back')IS NULL);END;
CREATE TRIGGER IF NOT EXISTS approvals_stay BEFORE DELETE ON approvals BEGIN SELECT raise(ABORT,'an approval cannot be removed');END;
