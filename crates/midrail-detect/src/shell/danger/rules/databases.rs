//! What destroys databases, caches, queues and search indexes by programs of their own. SQL is judged elsewhere.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const REDIS: &[&str] = &["redis-cli", "valkey-cli", "keydb-cli"];
const MONGO: &[&str] = &["mongo", "mongosh"];
const RAKE: &[&str] = &["rails", "rake"];
const JS_MIGRATIONS: &[&str] = &[
    "sequelize",
    "sequelize-cli",
    "typeorm",
    "typeorm-ts-node-commonjs",
    "typeorm-ts-node-esm",
    "knex",
    "mikro-orm",
    "drizzle-kit",
    "node-pg-migrate",
    "db-migrate",
    "prisma",
];

/// The one database that is named is there for tests.
const TEST_DATABASE: &str = "test|test_*|test-*|*_test|*-test|*_test_* !@*";

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(
        "postgres-drop",
        &["dropdb", "dropuser", "droplang", "pg_dropcluster", "pg_resetwal", "pg_resetxlog"],
        Critical,
        "Deletes a database, a role or a whole cluster",
    )
        .when(&["@*", "-i|-e|-f|--force|--if-exists"])
        .unless(&["-n", TEST_DATABASE])
        .safer("make a dump first, and let the owner delete")
        .stops(&[
            "dropdb app", "dropdb --if-exists -U me app", "pg_dropcluster 15 main --stop", "dropuser me",
        ])
        .passes(&["dropdb --help", "pg_resetwal -n data"]),
    rule("postgres-drop-test", &["dropdb"], Medium, "Deletes a database that tests use")
        .when(&[TEST_DATABASE])
        .likely()
        .safer("make sure that it is your own")
        .stops(&["dropdb --if-exists test_db", "dropdb app_test"])
        .passes(&["dropdb --help"]),
    rule(
        "postgres-restore-clean",
        &["pg_restore"],
        High,
        "Drops what is in the database before it restores",
    )
        .when(&["-c|--clean"])
        .unless(&["-f|--file", "-l|--list"])
        .safer("restore into a new database")
        .stops(&["pg_restore --clean -d app a.dump", "pg_restore -c a.dump"])
        .passes(&["pg_restore -d app a.dump", "pg_restore -l a.dump"]),
    rule(
        "postgres-dump-clean",
        &["pg_dump", "pg_dumpall"],
        Medium,
        "Writes a dump that drops what it replaces when it is restored",
    )
        .when(&["-c|--clean"])
        .likely()
        .safer("pg_dump without --clean")
        .stops(&["pg_dump --clean app", "pg_dump -c app", "pg_dump -cFp app"])
        .passes(&[
            "pg_dump app", "pg_dump -U me -d app -f a.sql", "pg_dump -Fc app", "pg_dump -Fc -d app -f /tmp/app.dump",
            "pg_dump -F c app",
        ]),
    rule(
        "postgres-server",
        &["pg_ctl", "pg_ctlcluster", "initdb", "pg_rewind", "pg_upgrade"],
        Medium,
        "Stops a database server, or changes its data folder",
    )
        .when(&["... stop|kill|promote", "--target-pgdata|-D --source-server", "--link|-k"])
        .safer("leave the server to the user")
        .stops(&["pg_ctl stop -m immediate", "pg_ctlcluster 15 main stop"])
        .passes(&["pg_ctl status", "pg_ctl start"]),
    rule(
        "mysql-admin",
        &["mysqladmin", "mariadb-admin"],
        Critical,
        "Deletes a database, or stops its server",
    )
        .when(&["... drop|shutdown|stop-slave|stop-replica|stop-all-slaves"])
        .safer("make a dump first, and let the owner delete")
        .stops(&["mysqladmin drop app", "mysqladmin -u root -f drop app", "mysqladmin shutdown"])
        .passes(&["mysqladmin status", "mysqladmin ping", "mysqladmin create app"]),
    rule(
        "mysql-admin-change",
        &["mysqladmin", "mariadb-admin"],
        Medium,
        "Changes a running database server",
    )
        .when(&["... flush-*|kill|password|old-password|reload|refresh"])
        .safer("leave the server to the user")
        .stops(&["mysqladmin flush-hosts", "mysqladmin kill 5"])
        .passes(&["mysqladmin processlist"]),
    rule(
        "sqlite-drop",
        &["sqlite3", "sqlite", "litecli", "sqlite-utils", "pg_recvlogical", "dolt"],
        High,
        "Drops parts of a database, or replaces it",
    )
        .when(&[
            "@.drop*|.restore*|*writefile(*", "@.shell*|.system*", "drop-table|drop-view", "--drop-slot",
            "reset --hard", "branch -D", "gc",
        ])
        .likely()
        .safer("copy the database file first")
        .stops(&["sqlite3 a.db '.drop trigger x'", "sqlite3 a.db '.restore b.db'"])
        .passes(&["sqlite3 a.db .tables", "sqlite3 a.db 'select 1'", "sqlite3 a.db .dump"]),
    rule("mongo-drop", MONGO, Critical, "Deletes a database or a collection")
        .when(&[
            "--eval=*dropDatabase*|--eval=*.drop()*|--eval=*.drop|--eval=*.drop({*|\
             --eval=*dropAllRoles*|--eval=*dropAllUsers*|--eval=*dropUser*|--eval=*shutdownServer*",
            "<*dropDatabase(*|*.drop()*", "@*dropDatabase()*|*.drop()*",
        ])
        .safer("make a dump first, and let the owner delete")
        .stops(&[
            "mongosh --eval 'db.dropDatabase()'", "mongo app --eval db.users.drop()",
            "mongosh mongodb://h/x --eval 'db.dropDatabase()'",
        ])
        .passes(&["mongosh --eval 'db.users.find()'", "mongosh app", "mongosh --eval 'db.stats()'"]),
    rule("mongo-delete", MONGO, High, "Deletes documents")
        .when(&[
            "--eval=*deleteMany*|--eval=*.remove(*|\
             --eval=*dropIndex*|--eval=*renameCollection*|--eval=*updateMany({}*|--eval=*bulkWrite*",
            "<*deleteMany(*|*.remove({*",
        ])
        .safer("count what it would delete first")
        .stops(&[
            "mongosh --eval 'db.users.deleteMany({})'", "mongosh --eval 'db.x.remove({})'",
            "mongosh --eval 'db.x.deleteMany({a: 1})'",
        ])
        .passes(&[
            "mongosh --eval 'db.users.countDocuments({})'", "mongosh --eval 'db.x.insertOne({a:1})'",
            "mongosh --eval 'db.users.deleteOne({_id:1})'",
        ]),
    rule(
        "mongo-restore-drop",
        &["mongorestore", "mongoimport"],
        High,
        "Drops the collections before it restores them",
    )
        .when(&["--drop"])
        .safer("restore into a new database")
        .stops(&["mongorestore --drop dump/", "mongoimport --drop -c x a.json"])
        .passes(&["mongorestore dump/", "mongoimport -c x a.json"]),
    rule("redis-flush", REDIS, Critical, "Deletes all keys, or breaks the server")
        .when(&[
            "flushall|flushdb|shutdown|swapdb|failover",
            "cluster reset|flushslots|forget|failover|delslots", "script|function flush",
            "debug segfault|restart|reload|crash*|oom|panic|flushall", "acl deluser",
            "replicaof|slaveof @*", "module unload|load", "restore|migrate @replace",
            "<*FLUSHALL*|*flushall*|*FLUSHDB*|*flushdb*", "... flushall|flushdb",
        ])
        .safer("delete single keys, or use a database of your own")
        .stops(&[
            "redis-cli FLUSHALL", "redis-cli -h x -p 1 flushdb", "redis-cli -n 0 FLUSHALL async",
            "redis-cli SHUTDOWN NOSAVE", "redis-cli cluster reset hard", "redis-cli --cluster x FLUSHALL",
        ])
        .passes(&[
            "redis-cli GET a", "redis-cli info", "redis-cli keys 'user:*'", "redis-cli set a b",
            "redis-cli -h x",
        ]),
    rule("redis-delete", REDIS, Medium, "Deletes keys, or changes the server")
        .when(&[
            "del|unlink @*", "del|unlink {}", "zremrangebyrank|ltrim|xtrim|xgroup @*",
            "config set|rewrite|resetstat",
            "debug @*", "client kill", "rename|renamenx @*", "eval|evalsha @*del*|*flush*",
            "latency|slowlog reset",
        ])
        .safer("look at the key first")
        .stops(&[
            "redis-cli DEL a", "redis-cli UNLINK a b", "redis-cli CONFIG SET dir /root/.ssh",
            "redis-cli DEBUG SLEEP 9",
        ])
        .passes(&["redis-cli CONFIG GET dir", "redis-cli scan 0", "redis-cli expire a 10"]),
    rule("redis-config", REDIS, High, "Lets the server write files elsewhere, or takes its guard away")
        .when(&["config set dir|dbfilename|protected-mode"])
        .safer("leave the settings of the server to the user")
        .stops(&["redis-cli CONFIG SET dir /root/.ssh", "redis-cli config set dbfilename authorized_keys"])
        .passes(&["redis-cli CONFIG GET dir"]),
    rule(
        "redis-statement",
        &["flushall", "flushdb"],
        Medium,
        "Deletes all keys, where a Redis console reads it",
    )
        .when(&["!@*", "async|sync"])
        .likely()
        .safer("delete single keys, or use a database of your own")
        .stops(&["FLUSHALL", "flushdb", "FLUSHDB ASYNC"])
        .passes(&["FLUSHALL extra words"]),
    rule(
        "memcached-flush",
        &["nc", "ncat", "netcat", "telnet", "socat"],
        Medium,
        "Sends a command that empties or stops a service",
    )
        .when(&[
            "<*flush_all*|*FLUSHALL*|*FLUSHDB*|*flushall*|*disable*server*|*shutdown*sessions*|\
             *shutdown*frontend*|*disable*frontend*|*clear*table*|*del*map*|*del*server*|*SHUTDOWN*",
        ])
        .likely()
        .safer("use a service of your own")
        .stops(&["nc localhost 11211 <<< flush_all", "socat stdio /run/h.sock <<< 'disable server a/b'"])
        .passes(&["nc -z host 80", "socat stdio /run/x.sock"]),
    rule("memcached-tool", &["memcflush", "memcrm"], Medium, "Empties a cache")
        .safer("let single keys run out")
        .stops(&["memcflush --servers=x", "memcrm key"])
        .passes(&["memcflush --help"]),
    rule("rails-drop", RAKE, High, "Deletes the database, or makes it anew")
        .when(&[
            "... db:drop|db:drop:*|db:reset|db:reset:*|db:purge|db:purge:*|db:truncate_all|\
             db:migrate:reset|db:setup|db:schema:load|db:structure:load|db:schema:load:*|\
             db:seed:replant|db:_drop|db:mongoid:drop|db:mongoid:purge|db:mongoid:remove_*",
        ])
        .unless(&["... RAILS_ENV=test"])
        .safer("rails db:migrate keeps the data")
        .stops(&[
            "rails db:drop", "rake db:drop:all", "rails db:reset --trace",
            "bundle exec rails db:migrate:reset", "rake db:schema:load",
        ])
        .passes(&["rails db:migrate", "rails server", "rake test", "rails db:create", "rails db:seed"]),
    rule("rails-drop-test", RAKE, Medium, "Deletes the database that tests use, or makes it anew")
        .when(&["... db:drop|db:reset|db:purge|db:truncate_all|db:migrate:reset ... RAILS_ENV=test"])
        .likely()
        .safer("rails db:test:prepare brings it up to date")
        .stops(&["rails db:reset RAILS_ENV=test"])
        .passes(&["rails db:test:prepare", "rails db:migrate RAILS_ENV=test"]),
    rule("rails-rollback", RAKE, Medium, "Takes migrations back; columns and tables may go with their data")
        .when(&[
            "... db:rollback|db:migrate:down|db:migrate:redo|db:rollback:*|destroy",
            "... db:migrate VERSION=0", "... db:fixtures:load",
        ])
        .safer("make a new migration")
        .stops(&["rails db:rollback STEP=3", "rails db:migrate VERSION=0", "rails destroy model User"])
        .passes(&["rails db:migrate", "rails generate model User", "rake assets:clobber"]),
    rule("artisan-drop", &["artisan"], High, "Deletes all tables, or takes all migrations back")
        .when(&[
            "migrate:fresh|migrate:reset|migrate:refresh|db:wipe|migrate:rollback|model:prune|\
             queue:flush|queue:clear|passport:purge|telescope:clear",
            "schema:dump --prune", "migrate --force", "db:seed --force",
            "horizon:purge|horizon:clear|horizon:terminate|down|backup:clean|tenants:migrate-fresh",
        ])
        .unless(&["--pretend"])
        .safer("php artisan migrate keeps the data")
        .stops(&[
            "php artisan migrate:fresh --seed", "artisan db:wipe", "php artisan migrate:reset",
            "sail artisan migrate:refresh",
        ])
        .passes(&[
            "php artisan migrate", "php artisan serve", "php artisan migrate:status",
            "php artisan cache:clear",
        ]),
    rule("django-flush", &["manage.py", "django-admin"], High, "Deletes the data of the database")
        .when(&[
            "flush|reset_db|reset_schema|drop_test_database|clear_index|rebuild_index|\
             delete_squashed_migrations",
            "migrate zero", "migrate @zero", "migrate --run-syncdb|--fake|--prune",
            "remove_stale_contenttypes", "search_index --delete|--rebuild",
        ])
        .unless(&["migrate --plan|--check"])
        .safer("python manage.py migrate keeps the data")
        .stops(&[
            "python manage.py flush --noinput", "manage.py reset_db", "python3 manage.py flush --no-input",
            "./manage.py migrate app zero", "django-admin flush", "python manage.py migrate --run-syncdb",
        ])
        .passes(&[
            "python manage.py migrate", "python manage.py runserver", "python manage.py test",
            "python manage.py makemigrations", "python manage.py migrate app zero --plan",
        ]),
    rule(
        "js-migrations-drop",
        JS_MIGRATIONS,
        High,
        "Deletes the schema with its data, or takes migrations back",
    )
        .when(&[
            "db:drop|db:migrate:undo:all|db:migrate:undo|db:seed:undo:all|db:seed:undo",
            "schema:drop|migration:revert|schema:sync|schema:fresh|migration:fresh|migration:down|\
             schema:drop-all",
            "migrate:rollback|migrate:down", "migrate reset", "db push --force-reset|--accept-data-loss",
            "push --force", "drop", "down|reset", "db execute", "db:truncate|database:drop",
            "migrate dev --force-reset",
        ])
        .safer("make a new migration that keeps the data")
        .stops(&[
            "npx prisma migrate reset --force", "prisma db push --accept-data-loss", "sequelize db:drop",
            "npx typeorm schema:drop -d x", "knex migrate:rollback --all",
            "npx sequelize-cli db:migrate:undo:all", "drizzle-kit push --force",
            "yarn prisma migrate reset", "pnpm exec prisma migrate reset",
        ])
        .passes(&[
            "npx prisma migrate dev", "prisma generate", "npx prisma db push", "knex migrate:latest",
            "sequelize db:migrate", "typeorm migration:run", "npx prisma studio",
        ]),
    rule(
        "migrations-down",
        &[
            "alembic", "flyway", "liquibase", "goose", "dbmate", "sqlx", "diesel", "sea-orm-cli", "migrate",
            "phinx", "yoyo", "sqitch", "tern", "refinery", "dbdeployer", "evolve", "roundhouse", "skeema",
            "bytebase", "ecto", "flask", "aerich", "piccolo",
        ],
        High,
        "Deletes the schema with its data, or takes migrations back",
    )
        .when(&[
            "downgrade", "clean|undo|repair", "... clean", "drop-all|dropAll|rollback*",
            "down|down-to|reset|drop|fresh|refresh|destroy|revert|redo",
            "... down-to|reset|drop|drop-all|dropAll", "database|db drop|reset",
            "migrate down|fresh|refresh|reset|revert", "migration|migrate revert|redo",
            "db downgrade|drop_all", "db downgrade", "... force", "... down", "migrations backwards",
        ])
        .unless(&[
            "-sql|--sql", "downgrade -1 !@*",
            "rollback-sql|rollbackSQL|rollback-count-sql|rollback-to-date-sql|future-rollback-sql",
        ])
        .safer("make a new migration that keeps the data")
        .stops(&[
            "alembic downgrade base", "flyway clean", "liquibase drop-all", "liquibase rollback v1",
            "goose down-to 0", "dbmate drop", "sqlx database drop -y", "diesel database reset",
            "migrate -path m -database x down", "flask db downgrade", "flyway -url=x clean",
        ])
        .passes(&[
            "alembic upgrade head", "flyway migrate", "liquibase update", "goose up",
            "diesel migration run", "sqlx migrate run", "flask run",
        ]),
    rule("migration-step-back", &["alembic"], Medium, "Takes the last migration back; its columns may go with their data")
        .when(&["downgrade -1 !@*"])
        .safer("make a new migration that keeps the data")
        .stops(&["alembic downgrade -1"])
        .passes(&["alembic upgrade +1", "alembic history"]),
    rule("cargo-migrations", &["cargo"], High, "Deletes a database")
        .when(&["sqlx|diesel database drop|reset", "sqlx migrate revert", "loco db reset|truncate|drop"])
        .safer("make a new migration that keeps the data")
        .stops(&["cargo sqlx database drop -y"])
        .passes(&["cargo sqlx prepare", "cargo sqlx migrate run"]),
    rule("ecto-drop", &["mix"], High, "Deletes the database, or takes migrations back")
        .when(&["ecto.drop|ecto.reset|ecto.rollback|ash.reset|ash_postgres.drop|ash.rollback|ecto.load"])
        .safer("mix ecto.migrate keeps the data")
        .stops(&["mix ecto.drop", "mix ecto.reset --quiet", "mix ecto.rollback --all"])
        .passes(&["mix ecto.migrate", "mix test", "mix ecto.create", "mix deps.get"]),
    rule("dotnet-drop", &["dotnet", "dotnet-ef"], High, "Deletes a database, or a migration")
        .when(&[
            "ef database drop", "database drop", "ef database update 0", "ef migrations remove --force|-f",
        ])
        .safer("dotnet ef migrations add makes a new one")
        .stops(&["dotnet ef database drop -f", "dotnet ef database update 0"])
        .passes(&["dotnet ef database update", "dotnet build"]),
    rule(
        "doctrine-drop",
        &["console", "symfony", "drush", "wp", "magento", "craft", "typo3", "yii", "spark", "cake"],
        High,
        "Deletes a database, or much of a site",
    )
        .when(&[
            "doctrine:database:drop|doctrine:schema:drop|doctrine:fixtures:load|\
             doctrine:migrations:rollup",
            "console @doctrine:database:drop|doctrine:schema:drop",
            "... doctrine:database:drop|doctrine:schema:drop|d:d:d",
            "site-install|site:install|si|entity:delete|user:cancel|pm:uninstall|\
             pmu|config:delete",
            "site delete|empty",
            "post|user|plugin|theme|comment|term|option delete|uninstall",
            "setup:uninstall|migrate/fresh|migrate/down|migrate:rollback|migrate:refresh",
            "migrations rollback", "search-replace !--dry-run",
        ])
        .safer("make a dump first, and let the owner delete")
        .stops(&[
            "php bin/console doctrine:database:drop --force",
            "wp site empty", "wp post delete 1 --force", "symfony console doctrine:schema:drop --force",
        ])
        .passes(&[
            "php bin/console doctrine:migrations:migrate", "wp post list", "drush status", "wp db export",
        ]),
    rule(
        "kafka-delete",
        &[
            "kafka-topics", "kafka-topics.sh", "kafka-consumer-groups", "kafka-consumer-groups.sh",
            "kafka-delete-records", "kafka-delete-records.sh", "kafka-acls", "kafka-acls.sh",
            "kafka-configs", "kafka-configs.sh", "kafka-streams-application-reset", "kafka-storage",
            "kafka-storage.sh", "kafka-server-stop", "kafka-server-stop.sh", "rpk", "kaf", "kafkactl",
        ],
        High,
        "Deletes topics, records or positions of a message log",
    )
        .when(&[
            "--delete|--remove|--offset-json-file|--delete-config", "--reset-offsets --execute",
            "topic|group|groups|acl|user|security delete", "topic trim-prefix", "format",
            "delete topic|topics|group|consumer-group|acl", "cluster offsets-delete",
        ])
        .safer("kafka-topics --describe only shows")
        .stops(&[
            "kafka-topics --bootstrap-server x --delete --topic a", "kafka-topics.sh --delete --topic a",
            "rpk topic delete a", "kafka-consumer-groups --reset-offsets --to-earliest --execute --group g",
        ])
        .passes(&["kafka-topics --list", "rpk topic list", "kafka-consumer-groups --describe --group g"]),
    rule(
        "queue-delete",
        &[
            "rabbitmqctl", "rabbitmqadmin", "rabbitmq-queues", "nats", "pulsar-admin", "activemq",
            "artemis", "beanstool", "celery",
        ],
        High,
        "Deletes queues or messages, or stops the broker",
    )
        .when(&[
            "... reset|force_reset|delete_queue|purge_queue|delete_vhost|delete_user|stop|stop_app|\
             shutdown|forget_cluster_node|clear_permissions|delete_shovel|clear_policy|delete_exchange",
            "delete|purge|close @*", "stream|consumer|kv|object|stream|obj rm|delete|del|purge|rmm",
            "... delete|delete-all|clear-backlog|reset-cursor|unload|terminate|remove|delete-*",
            "... purge", "control|multi shutdown|stop|kill",
        ])
        .safer("list_queues only lists")
        .stops(&[
            "rabbitmqctl reset", "rabbitmqctl -n rabbit@x delete_queue q",
            "rabbitmqadmin delete queue name=q", "nats stream rm S -f", "pulsar-admin topics delete t",
            "celery -A app purge -f",
        ])
        .passes(&[
            "rabbitmqctl status", "rabbitmqctl list_queues", "nats stream ls", "celery -A app worker",
        ]),
    rule(
        "key-value-delete",
        &["etcdctl", "consul", "zkcli", "zkcli.sh", "zookeeper-shell", "zookeeper-shell.sh"],
        High,
        "Deletes keys that services rely on",
    )
        .when(&[
            "del|rm|rmdir|lease @*", "member remove", "snapshot restore", "kv delete",
            "catalog|services|service deregister", "leave|force-leave", "operator raft remove-peer",
            "snapshot restore", "acl @delete", "namespace|partition|intention|peering|config delete",
            "... deleteall|rmr|delete", "user|role|auth delete|disable|revoke-role", "<*deleteall*|*rmr*",
        ])
        .safer("get the key first")
        .stops(&[
            "etcdctl del --prefix /", "etcdctl --endpoints x del a", "consul kv delete -recurse app/",
            "zkCli.sh deleteall /app", "consul acl token delete -id x", "etcdctl member remove 1",
        ])
        .passes(&["etcdctl get a", "consul kv get a", "consul members", "etcdctl put a b"]),
    rule(
        "time-series-delete",
        &["influx", "influxd", "promtool", "clickhouse-client", "nodetool", "cqlsh"],
        High,
        "Deletes data, or takes a node out of its cluster",
    )
        .when(&[
            "delete @*", "delete --bucket|-b|--start", "bucket|org|user|auth|task|v1 delete|remove",
            "decommission|removenode|assassinate|truncatehints|drain|clearsnapshot|stopdaemon|\
             disablebinary|disablegossip|resetlocalschema",
            "... decommission|removenode|assassinate|clearsnapshot|drain|stopdaemon", "restore --full",
            "-execute=*DROP*|-execute=*drop*|--execute=*DROP*",
        ])
        .safer("look at the data first")
        .stops(&[
            "influx delete --bucket x --start 0 --stop 1", "nodetool decommission",
            "nodetool -h x removenode y", "influx bucket delete -n x",
        ])
        .passes(&["influx query x", "nodetool status", "influx bucket list"]),
    rule(
        "cockroach",
        &["cockroach", "tiup", "vtctlclient", "vtctldclient", "pd-ctl", "yb-admin"],
        High,
        "Takes nodes, tables or snapshots out of a cluster",
    )
        .when(&[
            "node decommission|drain", "nodelocal|userfile|statement-diag|auth-session delete|logout",
            "debug reset-quorum|unsafe-remove-dead-replicas|recover",
            "cluster destroy|clean|scale-in|stop|prune", "clean|uninstall",
            "DeleteShard|DeleteTablet|DeleteKeyspace|DeleteCell",
            "... delete_table|delete_snapshot|delete_namespace|delete_index", "quit",
        ])
        .safer("look at the state of the cluster first")
        .stops(&["cockroach node decommission 4", "tiup cluster destroy x", "tiup cluster clean x --all"])
        .passes(&["cockroach node status", "tiup cluster display x"]),
    rule(
        "search-delete",
        &[
            "solr", "elasticsearch-reset-password", "elasticsearch-node", "elasticsearch-keystore",
            "elasticsearch-plugin", "opensearch-plugin", "curator", "curator_cli", "algolia", "meilisearch",
            "typesense", "elasticdump",
        ],
        Medium,
        "Deletes or changes a search index",
    )
        .when(&[
            "delete|delete-indices|delete_indices|delete_snapshots|delete-snapshots|close|\
             unsafe-bootstrap|detach-cluster|remove|remove-settings|repurpose",
            "... delete_indices|delete_snapshots|delete", "indices delete|clear",
            "objects delete|delete-by", "rules|synonyms|settings|apikeys delete|clear", "stop -all|--all",
        ])
        .safer("look at the index first")
        .stops(&[
            "solr delete -c x", "curator_cli delete_indices --filter_list x", "algolia indices delete x -y",
        ])
        .passes(&["solr status", "algolia indices list"]),
    rule(
        "hadoop-delete",
        &[
            "hdfs", "hadoop", "hbase", "hive", "beeline", "spark-sql", "impala-shell", "sqoop", "alluxio",
            "ozone",
        ],
        High,
        "Deletes files or tables of a cluster",
    )
        .when(&[
            "dfs|fs -r|-rm|-rmr @*", "dfs|fs @-rm|-rmr|-expunge", "dfs|fs -m", "namenode -f|-format",
            "namenode @-format", "dfsadmin @-delete*|-shutdown*", "fs rm|rmr|free",
            "sh volume|bucket|key|vol delete", "<*drop *|*disable_all*|*truncate *",
        ])
        .unless(&["dfs|fs -l|-c|-d|-t|-p|-g -s|-u|-a|-e !-r"])
        .safer("list what it would delete first")
        .stops(&["hdfs dfs -rm -r /data", "hadoop fs -rmr /data", "hdfs namenode -format"])
        .passes(&["hdfs dfs -ls /", "hdfs dfs -cat /a", "hdfs dfs -put a /b"]),
    rule(
        "local-database-stack",
        &[
            "supabase", "hasura", "pocketbase", "edgedb", "gel", "surreal", "neo4j-admin", "cypher-shell",
            "dgraph", "arangorestore", "fauna", "xata",
        ],
        High,
        "Deletes a database, a branch or a project",
    )
        .when(&[
            "db reset", "stop --no-backup",
            "projects|branches|functions|secrets|sso|domains|storage delete|remove|unset|rm", "storage rm",
            "migration down|repair|squash", "metadata clear|reset", "database drop|wipe|load",
            "instance destroy|revert", "branch drop|wipe|delete", "database delete|overwrite",
            "--overwrite|--drop-all", "push --force", "db|dbs|databases|branch|workspaces delete",
            "... DETACH*DELETE*",
        ])
        .safer("make a dump first, and let the owner delete")
        .stops(&[
            "supabase db reset", "supabase projects delete x", "edgedb instance destroy -I x",
            "hasura metadata clear", "xata dbs delete x",
        ])
        .passes(&[
            "supabase start", "supabase db diff", "supabase status", "hasura migrate apply",
            "supabase stop",
        ]),
    rule(
        "database-cluster",
        &[
            "patronictl", "pg_autoctl", "repmgr", "stolonctl", "mysqlsh", "orchestrator-client",
            "redis-trib", "mongocli", "ccm", "dbdeployer",
        ],
        High,
        "Takes a database out of its cluster, or starts it anew",
    )
        .when(&[
            "... remove|reinit|failover|switchover|drop|destroy|unregister|clear|removekeeper|\
             failkeeper|init|delete|kill",
            "primary|standby|node unregister|rejoin",
        ])
        .unless(&["... list|show|status|history|check"])
        .safer("look at the state of the cluster first")
        .stops(&[
            "patronictl remove main", "pg_autoctl drop node", "repmgr standby unregister", "stolonctl init",
            "ccm remove",
        ])
        .passes(&["patronictl list", "pg_autoctl show state", "repmgr cluster show"]),
    rule("site-database-drop", &["wp", "drush"], High, "Deletes all tables of a site")
        .when(&["db reset|drop|clean", "sql-drop|sql:drop"])
        .safer("wp db export or drush sql:dump keeps a copy")
        .stops(&["drush sql-drop -y", "wp db reset --yes", "drush sql:drop"])
        .passes(&["wp db export", "drush sql:dump", "wp db check"]),
];
