-- Notices count from 1 without gaps; `seq` is the record that one was written with; `body` is JSON. All notices of a channel up
-- to `through` are delivered or given up. The times are in microseconds since 1970.
CREATE TABLE IF NOT EXISTS notices(id INTEGER PRIMARY KEY,seq INTEGER,time INTEGER NOT NULL,recipient TEXT NOT NULL,kind TEXT NOT NULL,message TEXT NOT NULL,body TEXT NOT NULL)STRICT;
CREATE TABLE IF NOT EXISTS deliveries(channel TEXT NOT NULL,notice INTEGER NOT NULL,attempts INTEGER NOT NULL,tried INTEGER,delivered INTEGER,PRIMARY KEY(channel,notice))STRICT,WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS channels(channel TEXT PRIMARY KEY,through INTEGER NOT NULL)STRICT,WITHOUT ROWID;
