-- Version 6: triggers that are parsed faster, and tables that are created when they are first written. After this,
-- `schema.sql` and the files of `on_demand/` whose tables have rows create the triggers again.

DROP TRIGGER IF EXISTS audit_next;
DROP TRIGGER IF EXISTS audit_kept;
DROP TRIGGER IF EXISTS audit_stays;
DROP TRIGGER IF EXISTS checkpoints_new;
DROP TRIGGER IF EXISTS checkpoints_kept;
DROP TRIGGER IF EXISTS checkpoints_stay;
DROP TRIGGER IF EXISTS keys_new;
DROP TRIGGER IF EXISTS keys_kept;
DROP TRIGGER IF EXISTS keys_stay;
DROP TRIGGER IF EXISTS policies_new;
DROP TRIGGER IF EXISTS policies_kept;
DROP TRIGGER IF EXISTS policies_stay;
DROP TRIGGER IF EXISTS approvals_new;
DROP TRIGGER IF EXISTS approvals_forward;
DROP TRIGGER IF EXISTS approvals_stay;
DROP TRIGGER IF EXISTS approvers_kept;
DROP TRIGGER IF EXISTS approvers_stay;
