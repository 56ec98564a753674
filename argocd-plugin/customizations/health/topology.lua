-- ClusterTopology, ClusterTopologyBinding and KAI's Topology: Degraded when the operator says that they are not in order.
local health = {status = "Healthy"}
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  local is_drift = condition.type == "SchedulerTopologyDrift" and condition.status == "True"
  local is_unready = condition.type == "Ready" and condition.status == "False"
  if is_drift or is_unready then
    health.status = "Degraded"
    health.message = condition.message
  end
end
return health
