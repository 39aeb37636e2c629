/// The meaning of a path below `/console`.
enum ConsoleRoute: Equatable {
  case style
  case script
  /// The front page.
  case overview
  case enter(code: String?)
  /// The sign-in of a browser by phone.
  case signIn
  case leave
  case applications
  case application(id: String)
  case applicationAct(id: String, ApplicationAct)
  case credentialAct(application: String, credential: String, CredentialAct)
  case groups(application: String)
  /// A group, which the query names.
  case group(application: String)
  case user(application: String, user: Int64)
  case userAct(application: String, user: Int64, UserAct)
  case joins
  case joinCode(id: String)
  case joinAct(id: String, JoinAct)
  case sessions
  case endSession(id: String)
  case audit
  case auditExport
  case administrators
  case signAdministrators
  case administratorAct(name: String, AdministratorAct)

  enum ApplicationAct: String, CaseIterable {
    case settings, secret, disable, enable, credentials, notifications, users, sign
  }
  enum CredentialAct: String, CaseIterable { case rename, revoke, settle }
  enum JoinAct: String, CaseIterable { case approve, refuse, revoke }
  enum UserAct: String, CaseIterable { case link, lost, unblock, delete }
  enum AdministratorAct: String, CaseIterable { case role, remove, link, lost }

  /// - Parameter path: decoded segments below `/console`.
  init?(_ path: [String]) {
    switch (path.first, path.count) {
    case (nil, 0): self = .overview
    case ("times.js", 1): self = .script
    case ("style.css", 1): self = .style
    case ("enter", 1): self = .enter(code: nil)
    case ("enter", 2): self = .enter(code: path[1])
    case ("sign-in", 1): self = .signIn
    case ("leave", 1): self = .leave
    case ("applications", 1): self = .applications
    case ("application", 2): self = .application(id: path[1])
    case ("application", 3) where path[2] == "groups": self = .groups(application: path[1])
    case ("application", 3) where path[2] == "group": self = .group(application: path[1])
    case ("application", 3):
      guard let act = ApplicationAct(rawValue: path[2]) else { return nil }
      self = .applicationAct(id: path[1], act)
    case ("application", 4...):
      guard let route = ConsoleRoute(belowApplication: path) else { return nil }
      self = route
    case ("joins", 1): self = .joins
    case ("joins", 2): self = .joinCode(id: path[1])
    case ("joins", 3):
      guard let act = JoinAct(rawValue: path[2]) else { return nil }
      self = .joinAct(id: path[1], act)
    case ("sessions", 1): self = .sessions
    case ("sessions", 3):
      guard path[2] == "end" else { return nil }
      self = .endSession(id: path[1])
    case ("audit", 1): self = .audit
    case ("audit.jsonl", 1): self = .auditExport
    case ("administrators", 1): self = .administrators
    case ("administrators", 2):
      guard path[1] == "sign" else { return nil }
      self = .signAdministrators
    case ("administrators", 3):
      guard let act = AdministratorAct(rawValue: path[2]) else { return nil }
      self = .administratorAct(name: path[1], act)
    default: return nil
    }
  }

  private init?(belowApplication path: [String]) {
    switch (path[2], path.count) {
    case ("user", 4):
      guard let user = Int64(path[3]) else { return nil }
      self = .user(application: path[1], user: user)
    case ("user", 5):
      guard let user = Int64(path[3]), let act = UserAct(rawValue: path[4]) else { return nil }
      self = .userAct(application: path[1], user: user, act)
    case ("credential", 5):
      guard let act = CredentialAct(rawValue: path[4]) else { return nil }
      self = .credentialAct(application: path[1], credential: path[3], act)
    default: return nil
    }
  }

  var methods: Set<String> {
    switch self {
    case .style, .script, .overview, .application, .groups, .group, .user, .joinCode, .sessions, .audit, .auditExport:
      ["GET"]
    case .enter(let code): code == nil ? ["POST"] : ["GET"]
    case .applications, .signIn, .joins, .administrators: ["GET", "POST"]
    case .leave, .applicationAct, .credentialAct, .userAct, .joinAct, .endSession, .administratorAct,
      .signAdministrators:
      ["POST"]
    }
  }
}
