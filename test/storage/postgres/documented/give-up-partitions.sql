BEGIN;
DROP FUNCTION phasegate.follow_commits() CASCADE;
DROP TABLE phasegate.commits_in_partitions, phasegate.commits_copied;
DELETE FROM phasegate.migrations WHERE number = 8;
COMMIT;
