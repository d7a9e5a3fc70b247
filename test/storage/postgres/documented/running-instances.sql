SELECT instance_id, current_step_name, context::jsonb #>> '{head,attempts}' AS attempts
FROM phasegate.workflow_instances WHERE status = 'RUNNING' ORDER BY updated_at LIMIT 20;
