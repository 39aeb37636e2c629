import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// What shows the service that this computer is the one that used its credential before: a random mark, kept in
/// `state_dir/service/mark`, that is renewed when the helper connects again. A copy of the disk renews the same mark, and
/// the service notices when both go on.
public struct ComputerMark: Sendable, Equatable {
  private static let greatestSize = 1_024

  /// The id of this computer's credential.
  public let credential: String
  /// The service knows it.
  public private(set) var confirmed: String?
  /// It takes the place of the confirmed one, and the service may not know it yet.
  public private(set) var pending: String?

  /// As it is kept; a new one if nothing is, or for another credential, or if the file is damaged.
  public init(path: String, credential: String) {
    self.credential = credential
    guard let bytes = try? SecureFile.read(path, privacy: .secret, limit: Self.greatestSize),
      let json = try? JSON(parsing: bytes), json["credential"]?.string == credential
    else { return }
    confirmed = json["confirmed"]?.string
    pending = json["pending"]?.string
  }

  /// What a question tells; nil before the first mark.
  public var told: UserListQuestion.Mark? {
    if let pending { return UserListQuestion.Mark(mark: pending, former: confirmed) }
    return confirmed.map { UserListQuestion.Mark(mark: $0, former: nil) }
  }

  /// Draws a new mark, unless the last one may not have arrived: that one is told again.
  ///
  /// - Parameter state: the folder that outlives a start of the computer.
  /// - Throws: if it cannot be kept. Then nothing is changed.
  public mutating func renew(in state: RunFolder) throws(FileError) {
    guard pending == nil, let drawn = Digest.randomIdentifier() else { return }
    var renewed = self
    renewed.pending = drawn
    try renewed.write(in: state)
    self = renewed
  }

  /// The service has answered a question that told this mark.
  public mutating func confirm(_ mark: String, in state: RunFolder) throws(FileError) {
    guard mark == pending else { return }
    confirmed = mark
    pending = nil
    try write(in: state)
  }

  private func write(in state: RunFolder) throws(FileError) {
    let json = JSON.object([
      "credential": .string(credential), "confirmed": confirmed.map { .string($0) },
      "pending": pending.map { .string($0) },
    ])
    try AtomicFile.write(json.encoded(), to: try state.folder("service") + "/mark", mode: 0o600)
  }
}
