/// A line of the module that a listed service uses.
public struct PhoneLine: Sendable, Hashable {
  public enum Kind: String, Sendable {
    /// The line asks the phone.
    case auth
    /// The line makes the helper watch a session.
    case session
  }

  public let kind: Kind
  public let service: String
  /// The file that has the line: the service's, or one that it includes.
  public let file: String
  /// Whether users do not get in without the phone, even with the right password. False for a session line.
  public let isRequired: Bool

  public init(_ kind: Kind, of service: String, in file: String, isRequired: Bool = false) {
    self.kind = kind
    self.service = service
    self.file = file
    self.isRequired = isRequired
  }

  func serves(like other: PhoneLine) -> Bool { service == other.service && kind == other.kind }
}

/// The module's lines that the stacks of the listed services have now.
public struct PhoneLines: Sendable, Equatable {
  public let found: [PhoneLine]
  /// Services whose stacks are missing or cannot be read. Their lines are unknown.
  let unknown: Set<String>

  /// - Parameters:
  ///   - services: the services in `services`.
  ///   - opensSession: gives whether a service opens a watched session.
  public init(of services: [String], reader: PAMReader, opensSession: (String) -> Bool) {
    var found: [PhoneLine] = []
    var unknown: Set<String> = []
    for service in services {
      guard let auth = try? reader.stack("auth", of: service), let session = try? reader.stack("session", of: service)
      else {
        unknown.insert(service)
        continue
      }
      if let line = auth.ownLine {
        found.append(PhoneLine(.auth, of: service, in: line.file, isRequired: auth.requiresPhone))
      }
      if opensSession(service), let line = session.ownLine {
        found.append(PhoneLine(.session, of: service, in: line.file))
      }
    }
    self.found = found
    self.unknown = unknown
  }

  /// The known lines that are missing now. A line that was required and no longer is counts as missing.
  ///
  /// - Parameter services: the services in `services`. Lines of others are not expected.
  public func lost(of known: [PhoneLine], listed services: [String]) -> [PhoneLine] {
    known.filter { line in
      services.contains(line.service) && !unknown.contains(line.service)
        && !found.contains { $0.serves(like: line) && ($0.isRequired || !line.isRequired) }
    }
  }

  /// The lines to remember: those that are still expected, and those that were found.
  ///
  /// - Parameter isSettled: false for a line that may be an administrator's trial. The earlier knowledge then stays.
  public func remembered(
    after known: [PhoneLine], listed services: [String], isSettled: (PhoneLine) -> Bool
  ) -> [PhoneLine] {
    let kept = known.filter { services.contains($0.service) && unknown.contains($0.service) }
    let expected = kept + lost(of: known, listed: services)
    return expected
      + found.filter { line in !expected.contains { $0.serves(like: line) } }.compactMap { line in
        isSettled(line) ? line : known.first { $0.serves(like: line) }
      }
  }
}

extension [PAMEntry] {
  /// The module's first own line.
  fileprivate var ownLine: PAMLine? { flatMap(\.lines).first(where: \.isOwn) }

  /// Whether a user with the right password gets in with the phone, but not without it.
  fileprivate var requiresPhone: Bool { opens(phone: .success) && !opens(phone: .authErr) }

  private func opens(phone: PAMResult) -> Bool {
    var dispatch = PAMDispatch { line in
      if line.servesKeyring { return .ignore }
      return line.isOwn ? phone : line.presumedResult(passwordRight: true)
    }
    return dispatch.run(self)
  }
}
