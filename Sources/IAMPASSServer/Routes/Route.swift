import IAMPASSProtocol

/// What a path means. The documentation prints some management routes without `management/`: both are taken.
enum Route: Equatable {
  case announcement
  case health
  /// With the path below it.
  case console([String])
  case addUsers(application: String)
  case deleteUsers(application: String)
  case registrationLink(application: String, user: String)
  case hasDevice(application: String, user: String)
  case lostDevice(application: String, user: String)
  case registrationMessage(application: String, user: String)
  case authenticate(application: String, user: String)
  /// Asks for no more than a signed reply, which has the service's mark.
  case serviceMark(application: String)
  case sessionStatus(id: String)
  case sessionLogout(id: String)
  case showLink(code: String)
  case registerDevice
  case deviceRequests
  case deviceAnswer
  case devicePresence
  case deviceStatus
  case deviceCredential
  case deviceEnd
  case deviceUnregister
  case deviceEvents
  case pushKey
  case devicePush
  /// The bare address, for a browser.
  case door
  /// The phone's page, or a file beside it.
  case phoneFile(name: String)

  var method: String {
    switch self {
    case .console: "GET"
    case .announcement, .health, .registrationLink, .hasDevice, .lostDevice, .serviceMark, .sessionStatus, .showLink,
      .door,
      .phoneFile, .pushKey:
      "GET"
    case .addUsers, .deleteUsers, .registrationMessage, .authenticate, .sessionLogout, .registerDevice,
      .deviceRequests, .deviceAnswer, .devicePresence, .deviceStatus, .deviceCredential, .deviceEnd, .deviceUnregister,
      .deviceEvents, .devicePush:
      "POST"
    }
  }

  /// The console's own routes say which methods they take.
  var isConsole: Bool { if case .console = self { true } else { false } }

  /// Nil for a path that means nothing.
  ///
  /// - Parameter path: decoded segments.
  init?(path: [String]) {
    let named = path.first == "management" ? Array(path.dropFirst()) : path
    switch (named.first, named.count) {
    case ("add_users", 2): self = .addUsers(application: named[1])
    case ("delete_users", 2): self = .deleteUsers(application: named[1])
    case ("device_registration_link", 3): self = .registrationLink(application: named[1], user: named[2])
    case ("has_registered_mobile_device", 3): self = .hasDevice(application: named[1], user: named[2])
    case ("lost_user_mobile_device", 3): self = .lostDevice(application: named[1], user: named[2])
    case ("send_registration_sms", 3): self = .registrationMessage(application: named[1], user: named[2])
    default:
      guard let route = Route(unmanaged: path) else { return nil }
      self = route
    }
  }

  private init?(unmanaged path: [String]) {
    switch (path.first, path.dropFirst().first, path.count) {
    case (".well-known", "iampass", 2): self = .announcement
    case ("healthz", nil, 1): self = .health
    case ("console", _, _): self = .console(Array(path.dropFirst()))
    case ("authentication", "authenticate_user", 4): self = .authenticate(application: path[2], user: path[3])
    case ("authentication", "service_mark", 3): self = .serviceMark(application: path[2])
    case ("authentication", "session_status", 3): self = .sessionStatus(id: path[2])
    case ("authentication", "session_logout", 3): self = .sessionLogout(id: path[2])
    case ("register", let code?, 2): self = .showLink(code: code)
    case ("", nil, 1), ("phone", nil, 1): self = .door
    case ("phone", let name?, 2): self = .phoneFile(name: name)
    case ("device", "v1", 3):
      switch path[2] {
      case "register": self = .registerDevice
      case "requests": self = .deviceRequests
      case "answer": self = .deviceAnswer
      case "presence": self = .devicePresence
      case "status": self = .deviceStatus
      case "credential": self = .deviceCredential
      case "end": self = .deviceEnd
      case "unregister": self = .deviceUnregister
      case "events": self = .deviceEvents
      case "push-key": self = .pushKey
      case "push": self = .devicePush
      default: return nil
      }
    default: return nil
    }
  }
}

/// A request's target, taken apart and decoded.
struct Target {
  let path: [String]
  let query: [(name: String, value: String)]

  /// Nil where it is no path from the root, or its bytes are no UTF-8.
  init?(_ target: Substring) {
    guard target.hasPrefix("/") else { return nil }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var path: [String] = []
    for segment in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      guard let decoded = Target.decoded(segment) else { return nil }
      path.append(decoded)
    }
    var query: [(String, String)] = []
    for pair in parts.count == 2 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Target.decoded(sides[0]), let value = sides.count == 2 ? Target.decoded(sides[1]) : "" else {
        return nil
      }
      query.append((name, value))
    }
    self.path = path
    self.query = query
  }

  /// The only value of this name; nil where there is none, or more than one.
  func value(_ name: String) -> String? {
    let values = query.filter { $0.name == name }
    return values.count == 1 ? values[0].value : nil
  }

  func has(_ name: String) -> Bool { query.contains { $0.name == name } }

  /// `+` is a space: clients write user ids with Python's `quote_plus`.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var source = text.utf8.makeIterator()
    while let byte = source.next() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = source.next().flatMap(digit), let low = source.next().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
