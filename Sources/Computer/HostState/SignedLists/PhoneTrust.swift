import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why approvals of a user cannot be verified here.
public enum PhoneTrustError: Error, Sendable, Equatable {
  case file(PinnedPhonesError, path: String)
  case gap(TrustGap)
}

/// The phones in `/etc/iampass/phones`, and those of the list that administrators' phones sign, for `approvals = verified`.
public struct PhoneTrust: Sendable {
  /// The path of the computer's own file.
  public let path: String
  /// The phones of the signed list; nil: only the computer's own file counts.
  let service: ServicePhones?
  let verifier: any SignatureVerifier

  public init(
    path: String, service: ServicePhones? = nil, verifier: any SignatureVerifier = LibcryptoVerifier()
  ) {
    self.path = path
    self.service = service
    self.verifier = verifier
  }

  /// The user's phones. If the computer's own file has phones of the user, only those count.
  public func phones(of user: UnixUsername) throws(PhoneTrustError) -> [PinnedPhone] {
    try phones(of: user, beside: try file())
  }

  private func file() throws(PhoneTrustError) -> PinnedPhones {
    do { return try PinnedPhones(path: path) } catch { throw .file(error, path: path) }
  }

  private func phones(of user: UnixUsername, beside file: PinnedPhones) throws(PhoneTrustError) -> [PinnedPhone] {
    let own: [PinnedPhone]
    do { own = try file.phones(of: user) } catch { throw .file(error, path: path) }
    guard own.isEmpty, let service else { return own }
    do { return try service.phones(of: user) } catch { throw .file(error, path: service.path) }
  }

  /// The signed list's phones; nil if a file cannot be read, or if this computer has no list.
  public func listedPhones() -> ListedPhones? {
    guard let service, let own = try? file(), let listed = try? service.file() else { return nil }
    return ListedPhones(service: service, own: own, listed: listed)
  }

  /// Whether all phones of all users have a screen lock; false if there are none, or if a file cannot be read.
  var haveAllLocks: Bool {
    guard let own = try? PinnedPhones(path: path), let others = try? service?.file() ?? PinnedPhones(parsing: []) else {
      return false
    }
    let files = [own, others]
    return files.contains(where: \.hasPhone) && !files.contains(where: \.hasPhoneWithoutLock)
  }

  /// What an approval of a sign-in of this user must prove.
  public func demand(
    of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> ApprovalDemand {
    try demand(of: user, asked: asked, takesLocums: true)
  }

  /// What an approval of this user must prove.
  ///
  /// - Parameters:
  ///   - asked: the accepted methods; if it is empty, the phones choose.
  ///   - takesLocums: whether an administrator's phone may answer. It may only for a sign-in.
  public func demand(
    of user: UnixUsername, asked: [AuthenticationMethod], takesLocums: Bool
  ) throws(PhoneTrustError) -> ApprovalDemand {
    let file = try file()
    let phones = try phones(of: user, beside: file)
    // A bad line of the role makes only locums unusable. So does a user who cannot be looked up, because it may be
    // root.
    let locums = phones.isEmpty || !takesLocums ? [] : (try? file.locums(for: user)) ?? []
    do {
      return try ApprovalDemand(phones: phones, locums: locums, asked: asked, verifier: verifier)
    } catch { throw .gap(error) }
  }
}

extension HostSetup {
  /// The keys that verify approvals on this computer; nil if it trusts the service.
  public var phoneTrust: PhoneTrust? {
    switch configuration.approvals {
    case .service: nil
    case .verified: PhoneTrust(path: place.phones, service: servicePhones)
    }
  }
}
