-- KAI's PodGroup: Progressing while it waits for room, with the scheduler's reasons.
local health = {status = "Healthy"}
for _, condition in ipairs((obj.status or {}).schedulingConditions or {}) do
  if condition.status == "True" then
    local reasons = {}
    for _, reason in ipairs(condition.reasons or {}) do
      table.insert(reasons, reason.message)
    end
    health.status = "Progressing"
    health.message = #reasons > 0 and table.concat(reasons, "; ") or condition.message
  end
end
return health
