PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE phasegate_commits (
      seq INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES phasegate_sessions (number) ON DELETE CASCADE,
      version INTEGER NOT NULL,
      at TEXT NOT NULL,
      schema INTEGER NOT NULL,
      previous_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      summary TEXT NOT NULL,
      body TEXT NOT NULL
    );
INSERT INTO phasegate_commits VALUES(1,1,1,'2026-03-04T05:06:09.000Z',1,'','a068a4a523741246e688bb0f342b8f6947ec19f6c6ea4e548ce87ae83d6c88c9','{"kind":"phased","workflowType":"two_phases","target":"src/a.ts","status":"active","current":1,"total":2,"createdAt":"2026-03-04T05:06:09.000Z","activeSince":1}','{"sessionId":"two_phases_src_a_ts_20260304_050608","version":1,"at":"2026-03-04T05:06:09.000Z","schema":1,"keys":[],"events":[{"type":"started","target":"src/a.ts","options":{},"structure":{"type":"two_phases","version":"1","revision":"1","name":"Two","description":"d","startPhase":1,"phases":[{"number":1,"name":"Build","skippable":false,"tasks":[],"gate":{"kind":"schema","allowOverride":false},"textRevision":"cf57b73169f8"},{"number":2,"name":"Ship","skippable":false,"tasks":[],"gate":{"kind":"open","allowOverride":false},"textRevision":"53c491859f26"}]}},{"type":"phase_entered","phase":1,"position":0}],"head":{"status":"active","workflowType":"two_phases","revision":"1","target":"src/a.ts","structureVersion":1,"phase":1,"position":0,"total":2,"completed":[],"skipped":[],"attempts":0,"spent":[],"createdAt":"2026-03-04T05:06:09.000Z","phaseStartedAt":"2026-03-04T05:06:09.000Z","baseline":1}}');
INSERT INTO phasegate_commits VALUES(2,1,2,'2026-03-04T05:06:10.000Z',1,'a068a4a523741246e688bb0f342b8f6947ec19f6c6ea4e548ce87ae83d6c88c9','834b9cdb0cee4a092232220adc2b7474764f072fc557e7974e72cf6bd07ef179','{"kind":"phased","workflowType":"two_phases","target":"src/a.ts","status":"active","current":1,"total":2,"createdAt":"2026-03-04T05:06:09.000Z","activeSince":1}','{"sessionId":"two_phases_src_a_ts_20260304_050608","version":2,"at":"2026-03-04T05:06:10.000Z","schema":1,"keys":[],"events":[{"type":"gate_failed","phase":1,"attempt":1,"evidence":{"inline":{"tests_pass":false}},"problems":[{"field":"tests_pass","problem":"invalid","message":"''tests_pass'': tests_pass must be true","got":"false"}]}],"head":{"status":"active","workflowType":"two_phases","revision":"1","target":"src/a.ts","structureVersion":1,"phase":1,"position":0,"total":2,"completed":[],"skipped":[],"attempts":1,"spent":[[0,1]],"baseline":1,"createdAt":"2026-03-04T05:06:09.000Z","phaseStartedAt":"2026-03-04T05:06:09.000Z","submission":{"version":2,"merge":false}}}');
INSERT INTO phasegate_commits VALUES(3,1,3,'2026-03-04T05:06:11.000Z',1,'834b9cdb0cee4a092232220adc2b7474764f072fc557e7974e72cf6bd07ef179','e9da5f58778f39c5a3aa4785bda75ff410714c42acbefa76369620c2d8219a45','{"kind":"phased","workflowType":"two_phases","target":"src/a.ts","status":"active","current":2,"total":2,"createdAt":"2026-03-04T05:06:09.000Z","activeSince":1}','{"sessionId":"two_phases_src_a_ts_20260304_050608","version":3,"at":"2026-03-04T05:06:11.000Z","schema":1,"keys":[],"events":[{"type":"gate_passed","phase":1,"position":0,"attempt":2,"evidence":{"payload":"7b5e99736d80a9bdeec84dc37bc20ed7669c8055247e435d9cb81d302c7b9375","characters":70028,"names":["tests_pass","log"]}},{"type":"phase_entered","phase":2,"position":1}],"head":{"status":"active","workflowType":"two_phases","revision":"1","target":"src/a.ts","structureVersion":1,"phase":2,"position":1,"total":2,"completed":[[0,0]],"skipped":[],"attempts":0,"spent":[],"baseline":3,"createdAt":"2026-03-04T05:06:09.000Z","phaseStartedAt":"2026-03-04T05:06:11.000Z"}}');
INSERT INTO phasegate_commits VALUES(4,1,4,'2026-03-04T05:06:12.000Z',1,'e9da5f58778f39c5a3aa4785bda75ff410714c42acbefa76369620c2d8219a45','ff5e7cf2cc94a6f52dee0aa66ed8c0854aa63ca8ea9a1b06abc7782b22a97310','{"kind":"phased","workflowType":"two_phases","target":"src/a.ts","status":"completed","current":2,"total":2,"createdAt":"2026-03-04T05:06:09.000Z","completedAt":"2026-03-04T05:06:12.000Z","activeSince":1}','{"sessionId":"two_phases_src_a_ts_20260304_050608","version":4,"at":"2026-03-04T05:06:12.000Z","schema":1,"keys":[],"events":[{"type":"gate_passed","phase":2,"position":1,"attempt":1,"evidence":{"inline":{}}},{"type":"completed"}],"head":{"status":"completed","workflowType":"two_phases","revision":"1","target":"src/a.ts","structureVersion":1,"phase":2,"position":1,"total":2,"completed":[[0,1]],"skipped":[],"attempts":0,"spent":[],"submission":{"version":4,"merge":false},"baseline":3,"createdAt":"2026-03-04T05:06:09.000Z","phaseStartedAt":"2026-03-04T05:06:11.000Z","completedAt":"2026-03-04T05:06:12.000Z"}}');
INSERT INTO phasegate_commits VALUES(5,2,1,'2026-03-04T05:06:14.000Z',1,'','ff2d4462ad894882ccd936888016b32364f5025999c3a0989df76dc290057f62','{"kind":"phased","workflowType":"two_phases","target":"src/b.ts","status":"active","current":1,"total":2,"createdAt":"2026-03-04T05:06:14.000Z","activeSince":1}','{"sessionId":"two_phases_src_b_ts_20260304_050613","version":1,"at":"2026-03-04T05:06:14.000Z","schema":1,"keys":[],"events":[{"type":"started","target":"src/b.ts","options":{},"structure":{"type":"two_phases","version":"1","revision":"1","name":"Two","description":"d","startPhase":1,"phases":[{"number":1,"name":"Build","skippable":false,"tasks":[],"gate":{"kind":"schema","allowOverride":false},"textRevision":"cf57b73169f8"},{"number":2,"name":"Ship","skippable":false,"tasks":[],"gate":{"kind":"open","allowOverride":false},"textRevision":"53c491859f26"}]}},{"type":"phase_entered","phase":1,"position":0}],"head":{"status":"active","workflowType":"two_phases","revision":"1","target":"src/b.ts","structureVersion":1,"phase":1,"position":0,"total":2,"completed":[],"skipped":[],"attempts":0,"spent":[],"createdAt":"2026-03-04T05:06:14.000Z","phaseStartedAt":"2026-03-04T05:06:14.000Z","baseline":1}}');
INSERT INTO phasegate_commits VALUES(6,2,2,'2026-03-04T05:06:15.000Z',1,'ff2d4462ad894882ccd936888016b32364f5025999c3a0989df76dc290057f62','67d030c10046d891ba40907423f0a2dc46694a25487b2ded9e4388546afc327d','{"kind":"phased","workflowType":"two_phases","target":"src/b.ts","status":"paused","current":1,"total":2,"createdAt":"2026-03-04T05:06:14.000Z","activeSince":1}','{"sessionId":"two_phases_src_b_ts_20260304_050613","version":2,"at":"2026-03-04T05:06:15.000Z","schema":1,"keys":[],"events":[{"type":"paused"}],"head":{"status":"paused","workflowType":"two_phases","revision":"1","target":"src/b.ts","structureVersion":1,"phase":1,"position":0,"total":2,"completed":[],"skipped":[],"attempts":0,"spent":[],"baseline":1,"createdAt":"2026-03-04T05:06:14.000Z","phaseStartedAt":"2026-03-04T05:06:14.000Z","pausedAt":"2026-03-04T05:06:15.000Z"}}');
CREATE TABLE phasegate_migrations (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL);
INSERT INTO phasegate_migrations VALUES(1,'2026-11-21T19:56:10.273Z');
INSERT INTO phasegate_migrations VALUES(2,'2026-11-21T19:56:10.288Z');
INSERT INTO phasegate_migrations VALUES(3,'2026-11-21T19:56:10.290Z');
INSERT INTO phasegate_migrations VALUES(4,'2026-11-23T04:21:41.971Z');
INSERT INTO phasegate_migrations VALUES(5,'2026-11-23T16:09:28.481Z');
INSERT INTO phasegate_migrations VALUES(6,'2026-11-25T21:40:14.831Z');
CREATE TABLE phasegate_payloads (
      number INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES phasegate_sessions (number) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      body BLOB NOT NULL
    );
INSERT INTO phasegate_payloads VALUES(1,1,'7b5e99736d80a9bdeec84dc37bc20ed7669c8055247e435d9cb81d302c7b9375',X'1f8b0800000000000403edd0b10980301000c05dbe7682ccf22016c14650fc0882b8bb4b58de8d70f1648c5ea3e663a9ca68e3bcfa94b1ed6b46cbb83160c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103060c183060c0800103067e1fc878e3031f39b3e094110100');
CREATE TABLE phasegate_removed (
      session_id TEXT PRIMARY KEY,
      seq INTEGER NOT NULL,
      removed_at TEXT NOT NULL,
      version INTEGER,
      at TEXT,
      schema INTEGER,
      previous_hash TEXT,
      hash TEXT,
      summary TEXT,
      body TEXT
    );
INSERT INTO phasegate_removed VALUES('two_phases_src_c_ts_20260304_050616',8,'2026-11-21T13:44:04.385Z',2,'2026-03-04T05:06:18.000Z',1,'b7a33c135211a4d7e48b8bcce544b13881d11ce49b82925023314f70ed34b133','2749f3a005e051f4a8f6f14cb3d13fd353206f5c87455bf9471b91cf9c56c8c2','{"kind":"phased","workflowType":"two_phases","target":"src/c.ts","status":"deleted","current":1,"total":2,"createdAt":"2026-03-04T05:06:17.000Z","activeSince":1}','{"sessionId":"two_phases_src_c_ts_20260304_050616","version":2,"at":"2026-03-04T05:06:18.000Z","schema":1,"keys":[],"events":[{"type":"deleted","reason":"not needed"}],"head":{"status":"deleted","workflowType":"two_phases","revision":"1","target":"src/c.ts","structureVersion":1,"phase":1,"position":0,"total":2,"completed":[],"skipped":[],"attempts":0,"spent":[],"baseline":1,"createdAt":"2026-03-04T05:06:17.000Z","phaseStartedAt":"2026-03-04T05:06:17.000Z","deletedAt":"2026-03-04T05:06:18.000Z","reason":"not needed"}}');
CREATE TABLE phasegate_sessions (
      number INTEGER PRIMARY KEY,
      session_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      workflow_type TEXT NOT NULL,
      target TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_day TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '', version INTEGER NOT NULL DEFAULT 0);
INSERT INTO phasegate_sessions VALUES(1,'two_phases_src_a_ts_20260304_050608','phased','two_phases','src/a.ts','completed','2026-03-04T05:06:09.000Z','2026-03-04','',4);
INSERT INTO phasegate_sessions VALUES(2,'two_phases_src_b_ts_20260304_050613','phased','two_phases','src/b.ts','paused','2026-03-04T05:06:14.000Z','2026-03-04','',2);
CREATE UNIQUE INDEX phasegate_sessions_by_id ON phasegate_sessions (session_id);
CREATE INDEX phasegate_sessions_by_created ON phasegate_sessions (created_at DESC, session_id);
CREATE INDEX phasegate_sessions_by_status ON phasegate_sessions (status, created_at DESC, session_id);
CREATE INDEX phasegate_sessions_by_workflow_type ON phasegate_sessions (workflow_type, created_at DESC, session_id);
CREATE INDEX phasegate_sessions_by_target ON phasegate_sessions (target, created_at DESC, session_id);
CREATE INDEX phasegate_sessions_by_kind ON phasegate_sessions (kind, created_at DESC, session_id);
CREATE INDEX phasegate_sessions_by_updated_day ON phasegate_sessions (updated_day);
CREATE UNIQUE INDEX phasegate_commits_by_version ON phasegate_commits (session, version);
CREATE UNIQUE INDEX phasegate_payloads_by_hash ON phasegate_payloads (session, hash);
CREATE UNIQUE INDEX phasegate_removed_by_seq ON phasegate_removed (seq);
CREATE INDEX phasegate_sessions_by_owner ON phasegate_sessions (owner, created_at DESC, session_id) WHERE owner <> '';
CREATE VIEW phasegate_events AS
      SELECT s.session_id, c.version, c.at, e.key + 1 AS place, e.value ->> '$.type' AS type, e.value AS event
      FROM phasegate_commits c
      JOIN phasegate_sessions s ON s.number = c.session
      JOIN json_each(CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body ELSE '{}' END, '$.events') e;
CREATE VIEW workflow_instances AS
      SELECT s.session_id AS instance_id, CASE typeof(s.workflow_type) WHEN 'blob' THEN hex(s.workflow_type) ELSE s.workflow_type END AS workflow_name,
        CAST(CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.current' AS TEXT) AS current_step_name, CASE s.status WHEN 'active' THEN 'RUNNING' WHEN 'paused' THEN 'SUSPENDED' WHEN 'completed' THEN 'COMPLETED'
          WHEN 'failed' THEN 'FAILED' ELSE 'DELETED' END AS status,
        CASE s.kind WHEN 'routed' THEN CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.head.context' ELSE json_patch('{}', json_object('kind', CASE typeof(s.kind) WHEN 'blob' THEN hex(s.kind) ELSE s.kind END, 'target', CASE typeof(s.target) WHEN 'blob' THEN hex(s.target) ELSE s.target END, 'total', CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.total')) END AS context,
        s.created_at, coalesce(CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.updatedAt', c.at) AS updated_at,
        CASE WHEN s.status IN ('completed', 'failed') THEN coalesce(CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.completedAt', (SELECT min(coalesce(CASE WHEN json_valid(e.summary) THEN e.summary END ->> '$.updatedAt', e.at)) FROM phasegate_commits e
    WHERE e.session = s.number AND e.version > coalesce((SELECT o.version FROM phasegate_commits o
    WHERE o.session = s.number AND CASE WHEN json_valid(o.summary) THEN o.summary END ->> '$.status' <> s.status ORDER BY o.version DESC LIMIT 1), 0))) END
          AS completed_at,
        s.version
      FROM phasegate_sessions s
      JOIN phasegate_commits c ON c.seq = (SELECT seq FROM phasegate_commits WHERE session = s.number ORDER BY version DESC LIMIT 1)
      WHERE s.status <> 'deleted';
CREATE VIEW workflow_history AS
      SELECT c.seq AS history_entry_id, s.session_id AS instance_id, c.at AS timestamp, CAST(CASE WHEN json_valid(p.summary) THEN p.summary END ->> '$.current' AS TEXT) AS step_name,
        CAST(CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events' AS TEXT) AS user_report,
        CASE WHEN CASE WHEN json_valid(p.summary) THEN p.summary END ->> '$.status' = 'paused' AND CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.status' = 'active' THEN 'RESUMING'
          WHEN json_type(CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END, '$.events[0].type') = 'text' THEN CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].type'
          ELSE CASE CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.status' WHEN 'active' THEN 'RUNNING' WHEN 'paused' THEN 'SUSPENDED' WHEN 'completed' THEN 'COMPLETED'
          WHEN 'failed' THEN 'FAILED' ELSE 'DELETED' END END AS outcome_status,
        CAST(CASE WHEN json_valid(c.summary) THEN c.summary END ->> '$.current' AS TEXT) AS determined_next_step
      FROM phasegate_sessions s
      JOIN phasegate_commits c ON c.session = s.number
      JOIN phasegate_commits p ON p.session = c.session AND p.version = c.version - 1
      WHERE s.status <> 'deleted' AND s.kind <> 'routed'
    UNION ALL
      SELECT c.seq, s.session_id, c.at,
        CASE CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].operation' WHEN 'resume' THEN coalesce(CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].assumedStep', CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].step')
          ELSE CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].step' END,
        CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].report',
        CASE CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].operation' WHEN 'resume' THEN 'RESUMING' ELSE CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].report.status' END,
        CASE CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].type' WHEN 'gate_refused' THEN CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].step' ELSE (SELECT CASE CASE WHEN typeof(n.body) = 'text' AND json_valid(n.body) THEN n.body END ->> '$.events[0].type' WHEN 'decided' THEN CASE WHEN typeof(n.body) = 'text' AND json_valid(n.body) THEN n.body END ->> '$.events[0].next' END FROM phasegate_commits n
    WHERE n.session = c.session AND n.version > c.version AND CASE WHEN typeof(n.body) = 'text' AND json_valid(n.body) THEN n.body END ->> '$.events[0].type' IN ('decided', 'reported', 'gate_refused')
    ORDER BY n.version LIMIT 1) END
      FROM phasegate_sessions s
      JOIN phasegate_commits c ON c.session = s.number
      WHERE s.status <> 'deleted' AND s.kind = 'routed' AND CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body END ->> '$.events[0].type' IN ('reported', 'gate_refused');
COMMIT;
