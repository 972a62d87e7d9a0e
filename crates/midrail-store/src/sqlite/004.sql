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
  through INTEGER PRIMARY KEY, -- the last record in it
  first   INTEGER NOT NULL,
  sha256  TEXT NOT NULL        -- that of the file
) STRICT;

DROP TRIGGER audit_stays;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT coalesce(max(through), 0) FROM archives)
BEGIN SELECT raise(ABORT, 'the audit log is append-only: a record cannot be removed'); END;

CREATE TRIGGER key_changes_kept BEFORE UPDATE ON key_changes
BEGIN SELECT raise(ABORT, 'a change of the key cannot be changed'); END;
CREATE TRIGGER key_changes_stay BEFORE DELETE ON key_changes
BEGIN SELECT raise(ABORT, 'a change of the key cannot be removed'); END;
