-- Version 3: records cover the state that they change, changes of the key are signed, and records can be archived.

-- The digests of the slices, approvals and approvers that a record changed, as JSON. NULL: an older version wrote it.
ALTER TABLE audit ADD COLUMN changes TEXT;
-- The number of actions up to this record, and of those that were stopped, so that a window is counted from its ends.
ALTER TABLE audit ADD COLUMN actions BIGINT;
ALTER TABLE audit ADD COLUMN stopped BIGINT;
ALTER TABLE projects ADD COLUMN actions BIGINT NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN stopped BIGINT NOT NULL DEFAULT 0;

-- A key states that another key signed the log up to a record.
CREATE TABLE key_changes (
  project   INTEGER NOT NULL,
  seq       BIGINT NOT NULL,
  old       TEXT NOT NULL,
  new       TEXT NOT NULL,
  signer    TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (project, seq, old, new, signer)
);

-- Files to which records were moved. The checkpoint of the last record of each stays in `checkpoints`.
CREATE TABLE archives (
  project   INTEGER NOT NULL,
  through   BIGINT NOT NULL, -- the last record in it
  sha256    TEXT NOT NULL,   -- that of the file
  state     TEXT NOT NULL,   -- the digests of the state after that record, as JSON
  key       TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (project, through)
);

-- Records whose bodies were replaced by their hashes.
CREATE TABLE erasures (
  project   INTEGER NOT NULL,
  seq       BIGINT NOT NULL,
  key       TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (project, seq)
);

CREATE FUNCTION stays_unless_archived() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
  IF TG_OP = 'DELETE'
    AND OLD.seq <= (SELECT coalesce(max(through), 0) FROM midrail.archives WHERE project = OLD.project) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.project = OLD.project AND NEW.seq = OLD.seq AND NEW.hash = OLD.hash
    AND EXISTS (SELECT 1 FROM midrail.erasures WHERE project = OLD.project AND seq = OLD.seq) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;

DROP TRIGGER audit_kept ON audit;
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE ON audit FOR EACH ROW
EXECUTE FUNCTION stays_unless_archived('the audit log is append-only: a record cannot be changed or removed');
CREATE TRIGGER key_changes_kept BEFORE UPDATE OR DELETE ON key_changes FOR EACH ROW
EXECUTE FUNCTION stays('a change of the key cannot be changed or removed');
CREATE TRIGGER archives_kept BEFORE UPDATE OR DELETE ON archives FOR EACH ROW
EXECUTE FUNCTION stays('an archive cannot be changed or removed');
CREATE TRIGGER erasures_kept BEFORE UPDATE OR DELETE ON erasures FOR EACH ROW
EXECUTE FUNCTION stays('an erasure cannot be changed or removed');
