-- Version 3: an approval that nobody has used can be taken back, by a denial that says so.

DROP TRIGGER approvals_forward;
CREATE TRIGGER approvals_forward BEFORE UPDATE ON approvals
WHEN NEW.id <> OLD.id OR json_extract(NEW.body, '$.state') IS NOT NEW.state
  OR OLD.state NOT IN ('pending', NEW.state) AND OLD.state || NEW.state NOT IN ('approvedused', 'approvedexpired')
    AND (OLD.state || NEW.state <> 'approveddenied' OR json_extract(NEW.body, '$.taken_back') IS NULL)
BEGIN SELECT raise(ABORT, 'an approval that was decided cannot go back'); END;
