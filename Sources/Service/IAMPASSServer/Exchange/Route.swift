import IAMPASSProtocol

/// The meaning of a path. The documentation prints some management routes without `management/`; both forms are
/// accepted.
enum Route: Equatable {
  case announcement
  case health
  /// The keys by which approval tokens are verified.
  case signingKeys
  case openID(OpenIDRoute)
  /// A computer asks to join.
  case join
  /// The console, with the path below it.
  case console([String])
  case management(ManagementRoute, application: String)
  case session(SessionRoute)
  case phone(PhoneRoute)
  /// The bare address, for a browser.
  case root
  /// The phone's page, or a file beside it.
  case phoneFile(name: String)

  var method: String {
    switch self {
    case .announcement, .health, .signingKeys, .console, .root, .phoneFile: "GET"
    case .openID(let route): route.method
    case .join: "POST"
    case .management(let route, _): route.method
    case .session(let route): route.method
    case .phone(let route): route.method
    }
  }

  /// The console's own routes say which methods they take.
  var isConsole: Bool { if case .console = self { true } else { false } }

  /// Nil for an unknown path.
  ///
  /// - Parameter path: the decoded segments.
  init?(path: [String]) {
    if let (route, application) = ManagementRoute.named(in: path) {
      self = .management(route, application: application)
    } else if let route = SessionRoute(path: path) {
      self = .session(route)
    } else if let route = PhoneRoute(path: path) {
      self = .phone(route)
    } else if let route = OpenIDRoute(path: path) {
      self = .openID(route)
    } else {
      switch (path.first, path.dropFirst().first, path.count) {
      case (".well-known", "iampass", 2): self = .announcement
      case (".well-known", "jwks.json", 2): self = .signingKeys
      case ("healthz", nil, 1): self = .health
      case (JoinRequest.path, nil, 1): self = .join
      case ("console", _, _): self = .console(Array(path.dropFirst()))
      case ("", nil, 1), ("phone", nil, 1): self = .root
      case ("phone", let name?, 2): self = .phoneFile(name: name)
      default: return nil
      }
    }
  }
}

/// The routes of an application, about its users and their phones.
enum ManagementRoute: Equatable {
  case addUsers
  case deleteUsers
  case registrationLink(user: String)
  case hasDevice(user: String)
  case lostDevice(user: String)
  case registrationMessage(user: String)
  /// The keys of the user's phones, for computers that verify approvals.
  case phones(user: String)

  var method: String {
    switch self {
    case .registrationLink, .hasDevice, .lostDevice, .phones: "GET"
    case .addUsers, .deleteUsers, .registrationMessage: "POST"
    }
  }

  static func named(in path: [String]) -> (route: ManagementRoute, application: String)? {
    let path = path.first == "management" ? Array(path.dropFirst()) : path
    switch (path.first, path.count) {
    case ("add_users", 2): return (.addUsers, path[1])
    case ("delete_users", 2): return (.deleteUsers, path[1])
    case ("device_registration_link", 3): return (.registrationLink(user: path[2]), path[1])
    case ("has_registered_mobile_device", 3): return (.hasDevice(user: path[2]), path[1])
    case ("lost_user_mobile_device", 3): return (.lostDevice(user: path[2]), path[1])
    case ("user_phones", 3): return (.phones(user: path[2]), path[1])
    case ("send_registration_sms", 3): return (.registrationMessage(user: path[2]), path[1])
    default: return nil
    }
  }
}

/// The routes of computers, about service sessions.
enum SessionRoute: Equatable {
  /// - Parameter client: the id of the application, or of one of its host credentials.
  case start(user: String, signInClient: String)
  /// Gives up a start whose reply its computer did not get, by the computer's name for it: see ``StartName``.
  case startCancel(name: String, signInClient: String)
  /// Asks only for a signed reply, which has the service's mark.
  case mark(signInClient: String)
  /// The user's phones, for a computer that knows their keys.
  case phones(user: String, signInClient: String)
  /// The users whom the service lists for the computer.
  case userList(signInClient: String)
  /// Reports that a user's code was used on a computer that could not ask the phone.
  case codeUse(user: String, signInClient: String)
  /// The audit of the computer's own sign-ins.
  case audit(signInClient: String)
  /// The computer asks for a change of the list of users, which an administrator's phone approves.
  case userChange(signInClient: String)
  case status(id: String)
  case logout(id: String)

  var method: String {
    switch self {
    case .mark, .phones, .userList, .audit, .status: "GET"
    case .start, .startCancel, .codeUse, .userChange, .logout: "POST"
    }
  }

  /// Whether it only asks. It is not done for a client that has gone.
  var isQuestion: Bool {
    switch self {
    case .mark, .phones, .userList, .audit, .status: true
    case .start, .startCancel, .codeUse, .userChange, .logout: false
    }
  }

  init?(path: [String]) {
    guard path.first == "authentication", path.count >= 3 else { return nil }
    switch (path[1], path.count) {
    case ("authenticate_user", 4): self = .start(user: path[3], signInClient: path[2])
    case ("cancel_start", 4): self = .startCancel(name: path[3], signInClient: path[2])
    case ("service_mark", 3): self = .mark(signInClient: path[2])
    case ("user_list", 3): self = .userList(signInClient: path[2])
    case ("audit", 3): self = .audit(signInClient: path[2])
    case ("user_change", 3): self = .userChange(signInClient: path[2])
    case ("user_phone_digests", 4): self = .phones(user: path[3], signInClient: path[2])
    case ("code_use", 4): self = .codeUse(user: path[3], signInClient: path[2])
    case ("session_status", 3): self = .status(id: path[2])
    case ("session_logout", 3): self = .logout(id: path[2])
    default: return nil
    }
  }
}

/// The routes of phones.
enum PhoneRoute: Equatable {
  case showLink(code: String)
  case register
  case requests
  case answer
  case presence
  case status
  case credential
  case end
  case unregister
  case events
  case pushKey
  case push
  case look
  case face
  case document

  var method: String {
    switch self {
    case .showLink, .pushKey: "GET"
    case .register, .requests, .answer, .presence, .status, .credential, .end, .unregister, .events, .push, .look,
      .face, .document:
      "POST"
    }
  }

  init?(path: [String]) {
    if path.count == 2, path[0] == "register" {
      self = .showLink(code: path[1])
      return
    }
    guard path.count == 3, path[0] == "device", path[1] == "v1" else { return nil }
    switch path[2] {
    case "register": self = .register
    case "requests": self = .requests
    case "answer": self = .answer
    case "presence": self = .presence
    case "status": self = .status
    case "credential": self = .credential
    case "end": self = .end
    case "unregister": self = .unregister
    case "events": self = .events
    case "push-key": self = .pushKey
    case "push": self = .push
    case "look": self = .look
    case "face": self = .face
    case "document": self = .document
    default: return nil
    }
  }
}
