import IAMPASSProtocol

/// A message for an app: the account and its request. It does not name a user.
struct AppMessage: Sendable {
  let device: String
  let session: String
  /// Seconds until the request ends.
  let secondsLeft: Int64

  /// The body for APNs. The app may replace the text (`mutable-content`).
  var forApple: [UInt8] {
    JSON.object([
      "aps": .object([
        "alert": .object(["title": .string("Sign-in request"), "body": .string("Open the app to see and answer it.")]),
        "sound": .string("default"), "mutable-content": .integer(1),
      ]),
      "device": .string(device), "session": .string(session),
    ]).encoded()
  }

  /// The body for FCM: only data, which the app itself shows. Values are texts there.
  func forGoogle(to token: Secret) -> [UInt8] {
    JSON.object([
      "message": .object([
        "token": .string(token.exposedValue),
        "data": .object(["device": .string(device), "session": .string(session)]),
        "android": .object(["priority": .string("HIGH"), "ttl": .string("\(secondsLeft)s")]),
      ])
    ]).encoded()
  }
}
