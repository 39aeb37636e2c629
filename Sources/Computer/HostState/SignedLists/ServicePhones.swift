import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The phones in the service's signed list, for users whom this computer takes from the service.
public struct ServicePhones: Sendable {
  public let path: String
  let usersPath: String
  let credentialsPath: String
  let selection: UserSelection
  let sharing: SharedTokens

  /// The phones of a user who comes from the service: not named in this computer's own files, and allowed by
  /// `users_from_service`. None without a list of this computer's credential.
  func phones(of user: UnixUsername) throws(PinnedPhonesError) -> [PinnedPhone] {
    guard try takes(user) else { return [] }
    return try PinnedPhones(parsing: lines(beginning: TokenSearch.key(of: user)) ?? []).phones(of: user)
  }

  /// Whether this computer takes the user and the token from the service.
  func takes(_ user: UnixUsername) throws(PinnedPhonesError) -> Bool {
    do throws(UserLookupError) {
      guard let known = try SystemUser.find(named: user), known.name == user, try selection.includes(known) else {
        return false
      }
    } catch { throw .lookup(error) }
    return !isNamedHere(user)
  }

  /// An unreadable file counts as one that names the user.
  private func isNamedHere(_ user: UnixUsername) -> Bool {
    do throws(UserTokensError) {
      return try UserTokens.token(of: user, inFile: usersPath, sharing: sharing) != nil
    } catch {
      guard case .file(let file) = error else { return true }
      return file.code != .missing
    }
  }

  /// All phones; nil without a list of this computer's credential.
  public func file() throws(PinnedPhonesError) -> PinnedPhones? {
    try lines(beginning: []).map { PinnedPhones(parsing: $0) }
  }

  /// The lines that begin with these bytes; nil without a list of this computer's credential. The file is read in
  /// pieces, because it may have megabytes.
  private func lines(beginning key: [UInt8]) throws(PinnedPhonesError) -> [UInt8]? {
    var heading: ListHeading?
    let own = try? ServiceCredential(path: credentialsPath)
    var lines: [UInt8] = []
    do {
      try PieceFile(path, privacy: .secret, limit: PinnedPhones.greatestSize).read { piece in
        if heading == nil {
          heading = ListHeading(.phones, beginning: piece)
          guard heading != nil, heading?.credential == own?.applicationID else { return false }
        }
        guard !key.isEmpty else {
          lines += piece
          return true
        }
        var next = 0
        while let found = TokenSearch.line(beginning: key, in: piece, from: next) {
          next = found + 1
          lines += key + TokenSearch.value(in: piece, from: found + key.count) + [UInt8(ascii: "\n")]
        }
        return true
      }
    } catch {
      guard error.code == .missing else { throw .file(error) }
      return nil
    }
    guard let heading, heading.credential == own?.applicationID else { return nil }
    return lines
  }
}

extension HostSetup {
  /// Nil if this computer's users are in its own files.
  public var servicePhones: ServicePhones? {
    guard configuration.users == .service else { return nil }
    return ServicePhones(
      path: servicePhonesPath, usersPath: usersPath, credentialsPath: credentialsPath,
      selection: configuration.userSelection, sharing: configuration.sharedTokens)
  }
}
