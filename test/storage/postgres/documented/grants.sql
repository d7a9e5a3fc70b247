GRANT USAGE ON SCHEMA phasegate TO host;
GRANT SELECT ON phasegate.migrations TO host;
GRANT SELECT, INSERT, UPDATE, DELETE
  ON phasegate.sessions, phasegate.commits, phasegate.payloads, phasegate.listeners TO host;
GRANT USAGE ON SEQUENCE phasegate.commits_entries TO host;
