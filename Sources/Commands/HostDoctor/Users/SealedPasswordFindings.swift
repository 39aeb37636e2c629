import HostState
import HostSystem
import IAMPASSProtocol

/// Findings about useless sealed passwords: `keyring` is off, or their user has no token or does not exist.
public struct SealedPasswordFindings {
  /// One sealed password.
  public struct Kept: Sendable, Equatable {
    public enum Owner: Sendable, Equatable {
      case withToken
      case withoutToken
      /// The system has no user with this uid.
      case unknown
    }

    /// The user's name, or the uid of an unknown user, as `iampassctl keyring forget` takes it.
    public let name: String
    public let owner: Owner

    public init(name: String, owner: Owner) {
      self.name = name
      self.owner = owner
    }
  }

  public let policy: KeyringPolicy
  public let kept: [Kept]

  public init(policy: KeyringPolicy, kept: [Kept]) {
    self.policy = policy
    self.kept = kept
  }

  public var findings: [Finding] {
    guard !kept.isEmpty else { return [] }
    switch policy {
    case .off:
      let names = UserFindings.list(kept.map(\.name))
      return [
        Finding(
          .warning, .files, "keyring is off, but login passwords are still sealed here: \(names)",
          hint: "iampassctl keyring forget --all")
      ]
    case .sealed:
      return leftovers(of: .withoutToken, "users without a token")
        + leftovers(of: .unknown, "users whom this system does not know")
    }
  }

  private func leftovers(of owner: Kept.Owner, _ whose: String) -> [Finding] {
    let names = kept.filter { $0.owner == owner }.map(\.name)
    guard !names.isEmpty else { return [] }
    let first = names.prefix(UserFindings.greatestNamed).map { DisplayText.sanitized($0, limit: 64) }
    return [
      Finding(
        .warning, .files, "login passwords of \(whose) are still sealed here: \(UserFindings.list(names))",
        hint: "iampassctl keyring forget \(first.joined(separator: " "))")
    ]
  }
}

/// Reads the files for ``SealedPasswordFindings``.
struct SealedPasswordChecks {
  /// The most users who are looked up in the system. Each may be a question to a directory server.
  private static let greatestLookedUp = 1_000

  let configuration: Configuration
  /// Nil without a configuration.
  let setup: HostSetup?

  /// Nil for a configuration that cannot be read: it may name another folder.
  init?(path: String) {
    do throws(Misconfiguration) {
      let setup = try HostSetup(path: path)
      (configuration, self.setup) = (setup.configuration, setup)
    } catch {
      guard error == .noServer else { return nil }
      (configuration, setup) = (Configuration(), nil)
    }
  }

  func findings() -> [Finding] {
    do throws(FileError) {
      let uids = try SealedPasswords(state: RunFolder(path: configuration.stateFolder)).users()
      return SealedPasswordFindings(
        policy: configuration.keyring, kept: uids.prefix(Self.greatestLookedUp).map(kept)
      ).findings
    } catch {
      return [Finding(.warning, .files, "sealed passwords are not used: \(error.explanation)", hint: error.hint)]
    }
  }

  private func kept(_ uid: UInt32) -> SealedPasswordFindings.Kept {
    SealedPasswordFindings.Kept(name: SealedPasswords.owner(uid), owner: owner(uid))
  }

  /// A user who cannot be looked up is not reported.
  private func owner(_ uid: UInt32) -> SealedPasswordFindings.Kept.Owner {
    do throws(UserLookupError) {
      guard let user = try SystemUser.find(uid: uid) else { return .unknown }
      return hasToken(user) ? .withToken : .withoutToken
    } catch { return .withToken }
  }

  /// Also true if the users file cannot be used. That is reported elsewhere, and users are not reported for it.
  private func hasToken(_ user: SystemUser) -> Bool {
    do throws(Misconfiguration) { return try setup?.token(of: user.name, known: user) != nil } catch { return true }
  }
}
