-- Version 4: records cover the state that they change, changes of the key are signed, and records can be archived.

-- The digests of the slices, approvals and approvers that a record changed, as JSON. NULL: an older version wrote it.
ALTER TABLE audit ADD COLUMN changes TEXT;
-- The number of actions up to this record, and of those that were stopped, so that a window is counted from its ends.
ALTER TABLE audit ADD COLUMN actions INTEGER;
ALTER TABLE audit ADD COLUMN stopped INTEGER;

-- A key states that another key signed the log up to a record.
CREATE TABLE key_changes (
  seq       INTEGER NOT NULL,
  old       TEXT NOT NULL,
  new       TEXT NOT NULL,
  signer    TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (seq, old, new, signer)
) STRICT, WITHOUT ROWID;

-- Files to which records were moved. The checkpoint of the last record of each stays in `checkpoints`.
CREATE TABLE archives (
  through   INTEGER PRIMARY KEY, -- the last record in it
  sha256    TEXT NOT NULL,       -- that of the file
  state     TEXT NOT NULL,       -- the digests of the state after that record, as JSON
  key       TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT;

-- Records whose bodies were replaced by their hashes.
CREATE TABLE erasures (
  seq       INTEGER PRIMARY KEY,
  key       TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT;

-- Each trigger is read anew by every short process, and signatures protect the new tables, so they have none.
DROP TRIGGER audit_stays;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT coalesce(max(through), 0) FROM archives)
BEGIN SELECT raise(ABORT, 'the audit log is append-only: a record cannot be removed'); END;
DROP TRIGGER audit_kept;
CREATE TRIGGER audit_kept BEFORE UPDATE ON audit
WHEN NEW.seq <> OLD.seq OR NEW.hash <> OLD.hash OR NOT EXISTS (SELECT 1 FROM erasures WHERE seq = OLD.seq)
BEGIN SELECT raise(ABORT, 'the audit log is append-only: a record cannot be changed'); END;
