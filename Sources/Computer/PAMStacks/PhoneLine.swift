/// A line of the module's that a listed service goes by.
public struct PhoneLine: Sendable, Hashable {
  public enum Kind: String, Sendable {
    /// Asks the phone.
    case auth
    /// Has a session watched.
    case session
  }

  public let kind: Kind
  public let service: String
  /// The file that has the line: the service's, or one that it includes.
  public let file: String
  /// Nobody gets in without the phone, with the right password either. False for a session line.
  public let isRequired: Bool

  public init(_ kind: Kind, of service: String, in file: String, isRequired: Bool = false) {
    self.kind = kind
    self.service = service
    self.file = file
    self.isRequired = isRequired
  }

  func serves(like other: PhoneLine) -> Bool { service == other.service && kind == other.kind }
}

/// What the stacks of the listed services have of the module now.
public struct PhoneLines: Sendable, Equatable {
  public let found: [PhoneLine]
  /// Services whose stacks cannot be read, or are not there: nothing is known of them.
  let unknown: Set<String>

  /// - Parameters:
  ///   - services: those in `services`.
  ///   - opensSession: whether a service opens a session, which is watched.
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

  /// Those that were there, and are not. One that was required and is not any more counts as gone.
  ///
  /// - Parameter services: those in `services`; nothing is expected of others.
  public func lost(of known: [PhoneLine], listed services: [String]) -> [PhoneLine] {
    known.filter { line in
      services.contains(line.service) && !unknown.contains(line.service)
        && !found.contains { $0.serves(like: line) && ($0.isRequired || !line.isRequired) }
    }
  }

  /// What is to be known from now on: what is expected still, and what is found.
  ///
  /// - Parameter isSettled: false for a line that may be an administrator's trial: what was known stays in its place.
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
  /// The first line of the module's own.
  fileprivate var ownLine: PAMLine? { flatMap(\.lines).first(where: \.isOwn) }

  /// Whether a user with the right password gets in with the phone, and not without.
  fileprivate var requiresPhone: Bool { opens(phone: .success) && !opens(phone: .authErr) }

  private func opens(phone: PAMResult) -> Bool {
    var dispatch = PAMDispatch { line in
      if line.servesKeyring { return .ignore }
      return line.isOwn ? phone : line.presumedResult(passwordRight: true)
    }
    return dispatch.run(self)
  }
}
