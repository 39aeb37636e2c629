import Glibc
import HostSystem
import IAMPASSProtocol

/// The result of the looks for one user's phones.
public struct UserPresence: Sendable, Equatable {
  public enum State: String, Sendable, CaseIterable {
    /// No phone has answered yet: silence does not count.
    case unarmed
    case armed
    /// The phones were missed, or their presence is unknown.
    case doubtful
    /// The user has left.
    case left
    /// The phones' presence was unknown for too long.
    case blind
  }

  public let user: UnixUsername
  public let state: State
  /// When this state began, in seconds after boot.
  public let since: Int64

  public init(user: UnixUsername, state: State, since: Int64) {
    self.user = user
    self.state = state
    self.since = since
  }
}

/// `/run/iampass/presence`: the users whose phones are looked for. The helper writes it for its next start and for
/// `iampassctl session list`.
public struct PresenceStates: Sendable {
  private static let version: Int64 = 1
  /// The greatest size in bytes: the names and states of ``BoundPhones/greatestCount`` users.
  private static let greatestSize = 16 * 1024
  /// Valid seconds after boot. Sums of them do not overflow.
  private static let times: ClosedRange<Int64> = 0...(1 << 40)

  public let path: String

  public init(run: RunFolder) { path = run.path + "/presence" }

  /// The users; none if the file is missing or of another version.
  public func read() throws(FileError) -> [UserPresence] {
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestSize) } catch {
      if error.code == .missing { return [] }
      throw error
    }
    return Self.users(bytes) ?? []
  }

  public func write(_ users: [UserPresence]) throws(FileError) {
    let rows: [JSON] = users.map {
      .object(["user": .string($0.user.text), "state": .string($0.state.rawValue), "since": .integer($0.since)])
    }
    let json = JSON.object(["version": .integer(Self.version), "users": .array(rows)])
    try AtomicFile.write(json.encoded(), to: path, mode: 0o644)
  }

  /// Nil for bytes of another version.
  static func users(_ bytes: [UInt8]) -> [UserPresence]? {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == version, let rows = json["users"]?.array
    else { return nil }
    let users = rows.compactMap(user)
    return users.count == rows.count ? users : nil
  }

  private static func user(_ json: JSON) -> UserPresence? {
    guard let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }),
      let state = json["state"]?.string.flatMap(UserPresence.State.init(rawValue:)),
      let since = json["since"]?.integer, times.contains(since)
    else { return nil }
    return UserPresence(user: user, state: state, since: since)
  }
}
