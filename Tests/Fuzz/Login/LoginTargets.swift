import FuzzKit

/// What a login loads: no Foundation here, as there.
let loginTargets: [FuzzTarget] = [
  FuzzTarget("json", fuzzJSON),
  FuzzTarget("frames", fuzzFrames),
  FuzzTarget("replies", fuzzReplies),
  FuzzTarget("configuration", fuzzConfiguration),
  FuzzTarget("users", fuzzUsers),
  FuzzTarget("phones", fuzzPhones),
  FuzzTarget("credentials", fuzzCredentials),
  FuzzTarget("record", fuzzRecord),
  FuzzTarget("presence", fuzzPresence),
  FuzzTarget("approvals", fuzzApprovals),
]
