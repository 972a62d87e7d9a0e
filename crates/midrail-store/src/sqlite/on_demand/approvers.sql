-- `roles` is a JSON list; `hash` is salt and keyed hash of the approver's key; the times are in microseconds since 1970.
CREATE TABLE IF NOT EXISTS approvers(id INTEGER PRIMARY KEY,name TEXT NOT NULL,roles TEXT NOT NULL,hash TEXT NOT NULL,created INTEGER NOT NULL,revoked INTEGER)STRICT;
CREATE TRIGGER IF NOT EXISTS approvers_kept BEFORE UPDATE ON approvers BEGIN SELECT raise(ABORT,'an approver can be revoked, and not changed')WHERE OLD.revoked IS NOT NULL OR NEW.hash<>OLD.hash;END;
CREATE TRIGGER IF NOT EXISTS approvers_stay BEFORE DELETE ON approvers BEGIN SELECT raise(ABORT,'an approver cannot be removed');END;
