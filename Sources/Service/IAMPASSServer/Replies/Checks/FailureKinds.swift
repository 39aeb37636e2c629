import DeviceProtocol
import IAMPASSProtocol

extension FailureLimits.Kind {
  /// The kind of this request's failures; nil if they do not help guessing.
  init?(_ route: Route, _ request: ServiceRequest) {
    switch route.failureGroup {
    case .signed:
      guard let id = route.signer, RandomValue.isIdentifier(id) else { return nil }
      self = .signature(client: id)
    case .registration: self = .registration
    case .joining: self = .joining
    case .openID:
      guard let client = OpenIDClientCheck.claimedID(in: request) else { return nil }
      self = .signature(client: Self.cut(client))
    case .device:
      guard let device = (try? UnverifiedStatement(parsing: request.body))?.device else { return nil }
      self = .answer(device: Self.cut(device))
    case .none: return nil
    }
  }
}

extension Route {
  enum FailureGroup { case signed, registration, joining, device, openID, none }

  var failureGroup: FailureGroup {
    switch self {
    case .management, .session: .signed
    case .phone(let route): route.failureGroup
    case .console(let path): path.first == "enter" ? .registration : .none
    case .openID(let route): route == .configuration ? .none : .openID
    case .join: .joining
    case .announcement, .health, .signingKeys, .root, .phoneFile: .none
    }
  }
}

extension Route {
  /// The id in the path of the client that must have signed.
  fileprivate var signer: String? {
    switch self {
    case .management(_, let application): application
    case .session(let route): route.signer
    case .announcement, .health, .signingKeys, .openID, .join, .console, .phone, .root, .phoneFile: nil
    }
  }
}

extension SessionRoute {
  fileprivate var signer: String {
    switch self {
    case .start(_, let id), .startCancel(_, let id), .mark(let id), .phones(_, let id), .userList(let id),
      .codeUse(_, let id), .audit(let id), .userChange(let id), .status(let id), .logout(let id):
      id
    }
  }
}

extension PhoneRoute {
  fileprivate var failureGroup: Route.FailureGroup {
    switch self {
    case .showLink, .register: .registration
    case .requests, .answer, .presence, .status, .credential, .end, .unregister, .events, .push, .look, .face,
      .document:
      .device
    case .pushKey: .none
    }
  }
}
