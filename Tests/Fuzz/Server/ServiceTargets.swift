import FuzzKit

/// What the service is asked, and what phones say.
let serviceTargets: [FuzzTarget] = [
  FuzzTarget("requests", lookAtRequests),
  FuzzTarget("answers", lookAtAnswers),
  FuzzTarget("authenticators", lookAtAuthenticators),
  FuzzTarget("subscriptions", lookAtSubscriptions),
]
