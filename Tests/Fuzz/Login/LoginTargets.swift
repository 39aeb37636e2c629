import FuzzKit

/// What a login loads: no Foundation here, as there.
let loginTargets: [FuzzTarget] = [
  FuzzTarget("json", lookAtJSON),
  FuzzTarget("frames", lookAtFrames),
  FuzzTarget("replies", lookAtReplies),
  FuzzTarget("configuration", lookAtConfiguration),
  FuzzTarget("users", lookAtUsers),
  FuzzTarget("phones", lookAtPhones),
  FuzzTarget("credentials", lookAtCredentials),
  FuzzTarget("record", lookAtRecord),
  FuzzTarget("presence", lookAtPresence),
  FuzzTarget("approvals", lookAtApprovals),
]
