import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why it is not known whose phones sign this computer's list. No list is taken then.
public enum FleetError: Error, Sendable, Equatable {
  case file(FileError)
  case damaged(path: String)
  /// The file is missing although there is a list that administrators signed for this credential.
  case missing(path: String)
  /// Administrators signed for another credential of this computer, and nobody has given them up.
  case ofOtherCredential(path: String)

  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .damaged(let path): "\(path) is damaged: join again by iampassctl join --again, with a new code"
    case .missing(let path): "\(path) is missing: join again by iampassctl join --again, with a new code"
    case .ofOtherCredential(let path):
      "administrators signed the list for another credential (\(path)): join again by iampassctl join --again"
    }
  }
}

/// The administrators whose phones sign this computer's list of users, and which list that is:
/// `state_dir/service/administrators.MARK`, which `iampassctl join` writes for a code of the second form. Its set of
/// administrators only moves forward.
///
/// MARK is made from the credential's id. Each credential has its own file. A computer that joins again has both files
/// until the new credential is there, so the credential in force always finds its own.
public struct Fleet: Sendable, Equatable {
  static let prefix = "administrators."
  /// Characters of MARK.
  static let markLength = 16

  /// The id of this computer's credential.
  public let credential: String
  /// The anchor, with the newest set that this computer has seen.
  public let anchor: FleetAnchor

  public init(credential: String, anchor: FleetAnchor) {
    self.credential = credential
    self.anchor = anchor
  }

  public var administrators: AdministratorSet { anchor.administrators }

  /// The fleet with the next set, after that set was verified.
  func following(_ next: AdministratorSet) -> Fleet? {
    FleetAnchor(administrators: next, application: anchor.application, group: anchor.group).map {
      Fleet(credential: credential, anchor: $0)
    }
  }

  static func name(of credential: String) -> String {
    prefix + Digest.hexadecimal(Digest.sha256(Array(credential.utf8))).prefix(markLength)
  }

  static func path(in folder: String, credential: String) -> String { folder + "/" + name(of: credential) }

  /// What is kept for the credential; nil if this computer believes the service. It does so if no administrators have ever
  /// signed for it, or if ``believeService(as:in:)`` says so. Another credential alone does not suffice.
  ///
  /// - Parameter folder: `state_dir/service`.
  public static func kept(in folder: String, credential: String) throws(FleetError) -> Fleet? {
    if let note = try note(in: folder, of: credential) { return note.fleet }
    guard try !hasSignedList(in: folder, of: credential) else {
      throw .missing(path: path(in: folder, credential: credential))
    }
    guard let other = try others(in: folder).first else { return nil }
    throw .ofOtherCredential(path: path(in: folder, credential: other.credential))
  }

  /// Whether a list is kept that administrators signed for the credential.
  ///
  /// - Throws: where that cannot be seen.
  static func hasSignedList(in folder: String, of credential: String) throws(FleetError) -> Bool {
    let path = SignedUsers.Place(folder: folder).phones
    var heading: ListHeading?
    do {
      try PieceFile(path, privacy: .secret, limit: PinnedPhones.greatestSize).read {
        heading = ListHeading(.phones, beginning: $0)
        return false
      }
    } catch {
      guard error.code == .missing else { throw .file(error) }
      return false
    }
    guard let heading else { throw .damaged(path: path) }
    return heading.credential == credential
  }

  /// Whole or not at all, and on the disk when this returns: a credential without it believes the service. Others may
  /// read it: it has public keys.
  ///
  /// - Parameter state: the folder that outlives a restart of the computer.
  /// - Returns: what is kept now. A later set of the same fleet stays.
  public func write(in state: RunFolder) throws(FileError) -> Fleet {
    let folder = try state.folder("service")
    let path = Self.path(in: folder, credential: credential)
    let lock = try EditorLock(of: path)
    defer { withExtendedLifetime(lock) {} }
    if let kept = try? Self.kept(in: folder, credential: credential), kept.anchor.application == anchor.application,
      kept.anchor.group == anchor.group, kept.administrators.number > administrators.number
    {
      return kept
    }
    try state.keep(FleetNote(credential: credential, fleet: self).bytes, at: path, mode: 0o644)
    return self
  }
}

extension HostSetup {
  /// The fleet of the credential in force; nil if there is none.
  public func fleet(of credential: String) throws(FleetError) -> Fleet? {
    try Fleet.kept(in: configuration.stateFolder + "/service", credential: credential)
  }

  /// Where the phones of the service's signed list are kept.
  public var servicePhonesPath: String { configuration.stateFolder + "/service/phones" }
}
