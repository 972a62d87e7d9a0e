-- Records whose bodies were replaced by their hashes.
CREATE TABLE IF NOT EXISTS erasures(seq INTEGER PRIMARY KEY,key TEXT NOT NULL,signature TEXT NOT NULL)STRICT;
DROP TRIGGER IF EXISTS audit_kept;
CREATE TRIGGER audit_kept BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT,'the audit log is append-only: a record cannot be changed')WHERE NEW.seq<>OLD.seq OR NEW.hash<>OLD.hash OR NOT EXISTS(SELECT 1 FROM erasures WHERE seq=OLD.seq);END;
