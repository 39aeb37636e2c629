import IAMPASSProtocol

/// A message for an app: which of its accounts has which request. Nothing in it names a user.
struct AppMessage: Sendable {
  let device: String
  let session: String
  /// Until the request ends.
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

  /// The body for FCM: data alone, which the app itself shows. Values are texts there.
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
