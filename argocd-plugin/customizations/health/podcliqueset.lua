-- Healthy when the operator has seen this generation and all replicas are available.
local health = {}
local status = obj.status
if status == nil or status.observedGeneration == nil or status.observedGeneration < obj.metadata.generation then
  health.status = "Progressing"
  health.message = "the operator has not looked at this generation yet"
  return health
end
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "TopologyLevelsUnavailable" and condition.status ~= "False" then
    health.status = "Degraded"
    health.message = condition.message
    return health
  end
end
for _, failure in ipairs(status.lastErrors or {}) do
  health.status = "Degraded"
  health.message = failure.code .. ": " .. failure.description
  return health
end
local update = status.updateProgress
if update ~= nil and update.updateEndedAt == nil then
  health.status = "Progressing"
  health.message = "replicas are being updated"
  return health
end
local wanted, available = obj.spec.replicas or 0, status.availableReplicas or 0
if available < wanted then
  health.status = "Progressing"
  health.message = available .. " of " .. wanted .. " replicas are available"
  return health
end
health.status = "Healthy"
return health
