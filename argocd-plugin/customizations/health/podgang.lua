-- Healthy when the gang runs; one that nobody reports on is there, and that is all there is to know.
local health = {}
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local unhealthy, ready, scheduled = conditions.Unhealthy, conditions.Ready, conditions.Scheduled
if unhealthy ~= nil and unhealthy.status == "True" then
  health.status = "Degraded"
  health.message = unhealthy.message
elseif status.phase == "Failed" then
  health.status = "Degraded"
  health.message = "the gang failed"
elseif ready ~= nil and ready.status == "True" then
  health.status = "Healthy"
elseif status.phase == "Running" or status.phase == "Succeeded" then
  health.status = "Healthy"
elseif scheduled ~= nil and scheduled.status ~= "True" then
  health.status = "Progressing"
  health.message = scheduled.message
elseif status.phase == "Pending" or status.phase == "Starting" or ready ~= nil then
  health.status = "Progressing"
  health.message = (ready or conditions.Initialized or {}).message or "the gang does not run yet"
else
  health.status = "Healthy"
end
return health
