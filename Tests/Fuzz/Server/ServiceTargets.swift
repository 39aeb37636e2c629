import FuzzKit

/// What the service is asked, and what phones say.
let serviceTargets: [FuzzTarget] = [
  FuzzTarget("requests", fuzzRequests),
  FuzzTarget("answers", fuzzAnswers),
  FuzzTarget("authenticators", fuzzAuthenticators),
  FuzzTarget("subscriptions", fuzzSubscriptions),
]
