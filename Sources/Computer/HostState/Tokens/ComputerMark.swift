import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Shows the service that this computer is the one that used its credential before. It is a random mark in
/// `state_dir/service/mark`, which is renewed when the helper connects again. A copy of the disk renews the same mark,
/// and the service notices that both are in use.
public struct ComputerMark: Sendable, Equatable {
  private static let greatestSize = 1_024
  private static let folder = "service"

  private static func path(in folder: String) -> String { folder + "/mark" }

  /// The id of this computer's credential.
  public let credential: String
  /// The mark that the service knows.
  public private(set) var confirmed: String?
  /// The mark that replaces the confirmed one. The service may not know it yet.
  public private(set) var pending: String?

  /// Reads the kept mark. Makes an empty one if there is none, if it is for another credential, or if the file is
  /// damaged.
  ///
  /// - Parameter state: the folder that outlives a restart of the computer.
  public init(in state: RunFolder, credential: String) {
    self.credential = credential
    guard
      let bytes = try? SecureFile.read(
        Self.path(in: state.path + "/" + Self.folder), privacy: .secret, limit: Self.greatestSize),
      let json = try? JSON(parsing: bytes), json["credential"]?.string == credential
    else { return }
    confirmed = json["confirmed"]?.string
    pending = json["pending"]?.string
  }

  /// What a question sends; nil before the first mark.
  public var sent: UserListQuestion.Mark? {
    if let pending { return UserListQuestion.Mark(mark: pending, former: confirmed) }
    return confirmed.map { UserListQuestion.Mark(mark: $0, former: nil) }
  }

  /// Makes a new mark, unless the last one may not have arrived. That one is then sent again.
  ///
  /// - Parameter state: the folder that outlives a restart of the computer.
  /// - Throws: if the mark cannot be kept. Then nothing changes.
  public mutating func renew(in state: RunFolder) throws(FileError) {
    guard pending == nil, let drawn = Digest.randomIdentifier() else { return }
    var renewed = self
    renewed.pending = drawn
    // On the disk before it is sent: the service would take a computer that came back without it for a copy.
    try state.keep(renewed.encoded(), at: Self.path(in: try state.folder(Self.folder)), mode: 0o600)
    self = renewed
  }

  /// Notes that the service has answered a question with this mark.
  public mutating func confirm(_ mark: String, in state: RunFolder) throws(FileError) {
    guard mark == pending else { return }
    confirmed = mark
    pending = nil
    // Without this note the mark is sent again, with the one before it.
    try AtomicFile.write(encoded(), to: Self.path(in: try state.folder(Self.folder)), mode: 0o600)
  }

  private func encoded() -> [UInt8] {
    JSON.object([
      "credential": .string(credential), "confirmed": confirmed.map { .string($0) },
      "pending": pending.map { .string($0) },
    ]).encoded()
  }
}
