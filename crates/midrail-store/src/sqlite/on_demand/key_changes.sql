-- A key states that another key signed the log up to a record.
CREATE TABLE IF NOT EXISTS key_changes(seq INTEGER NOT NULL,old TEXT NOT NULL,new TEXT NOT NULL,signer TEXT NOT NULL,signature TEXT NOT NULL,PRIMARY KEY(seq,old,new,signer))STRICT,WITHOUT ROWID;
