-- Version 2: an approval that nobody has used can be taken back, by a denial that says so.

DROP TRIGGER approvals_forward ON approvals;
CREATE TRIGGER approvals_forward BEFORE UPDATE ON approvals FOR EACH ROW
WHEN (NEW.id <> OLD.id OR NEW.project <> OLD.project
  OR OLD.state NOT IN ('pending', NEW.state) AND OLD.state || NEW.state NOT IN ('approvedused', 'approvedexpired')
    AND (OLD.state || NEW.state <> 'approveddenied' OR NEW.body::json ->> 'taken_back' IS NULL))
EXECUTE FUNCTION stays('an approval that was decided cannot go back');
