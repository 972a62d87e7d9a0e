-- Files to which records were moved: the last record in each, the SHA-256 of the file, and the digests of the state after that
-- record, as JSON. The checkpoint of that record stays in `checkpoints`. Archived records may be removed.
CREATE TABLE IF NOT EXISTS archives(through INTEGER PRIMARY KEY,sha256 TEXT NOT NULL,state TEXT NOT NULL,key TEXT NOT NULL,signature TEXT NOT NULL)STRICT;
DROP TRIGGER IF EXISTS audit_stays;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT raise(ABORT,'the audit log is append-only: a record cannot be removed')WHERE OLD.seq>(SELECT coalesce(max(through),0)FROM archives);END;
