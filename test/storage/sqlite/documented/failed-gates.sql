SELECT session_id, at, event ->> '$.phase' AS phase FROM phasegate_events WHERE type = 'gate_failed';
