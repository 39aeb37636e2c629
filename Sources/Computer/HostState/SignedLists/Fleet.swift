import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why it is not known whose phones sign this computer's list. No list is taken then.
public enum FleetError: Error, Sendable, Equatable {
  case file(FileError)
  case damaged(path: String)
  /// The file is missing although there is a list that administrators signed for this credential.
  case missing(path: String)

  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .damaged(let path): "\(path) is damaged: join again by iampassctl join --again, with a new code"
    case .missing(let path): "\(path) is missing: join again by iampassctl join --again, with a new code"
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
  private static let prefix = "administrators."
  /// Characters of MARK.
  private static let markLength = 16
  private static let greatestSize = 256 * 1024

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

  private static func name(of credential: String) -> String {
    prefix + Digest.hexadecimal(Digest.sha256(Array(credential.utf8))).prefix(markLength)
  }

  static func path(in folder: String, credential: String) -> String { folder + "/" + name(of: credential) }

  /// The fleet that is kept for the credential; nil if there is none, and this computer trusts the service.
  ///
  /// - Parameter folder: `state_dir/service`.
  public static func kept(in folder: String, credential: String) throws(FleetError) -> Fleet? {
    let path = path(in: folder, credential: credential)
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .readableByAll, limit: greatestSize) } catch {
      guard error.code == .missing else { throw .file(error) }
      guard try !hasSignedList(in: folder, of: credential) else { throw .missing(path: path) }
      return nil
    }
    guard let json = try? JSON(parsing: bytes), json["credential"]?.string == credential,
      let anchor = try? FleetAnchor(json["fleet"] ?? .null)
    else { throw .damaged(path: path) }
    return Fleet(credential: credential, anchor: anchor)
  }

  /// Whether a list is kept that administrators signed for the credential.
  ///
  /// - Throws: if that cannot be read.
  private static func hasSignedList(in folder: String, of credential: String) throws(FleetError) -> Bool {
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

  private var bytes: [UInt8] {
    JSON.object(["credential": .string(credential), "fleet": anchor.json]).encoded() + [UInt8(ascii: "\n")]
  }

  /// Writes the file whole or not at all. Others may read it, because it has only public keys.
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
    try AtomicFile.write(bytes, to: path, mode: 0o644)
    return self
  }

  /// Removes the files of other credentials than these. Does not make the folder.
  public static func forget(except credentials: [String], in state: RunFolder) throws(FileError) {
    let folder = state.path + "/service"
    guard let entries = opendir(folder) else {
      guard errno == ENOENT else { throw FileError(.system(errno), path: folder) }
      return
    }
    defer { closedir(entries) }
    let own = credentials.map(name)
    while let entry = readdir(entries) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        // SAFETY: d_name is terminated within its 256 bytes (readdir(3)).
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.hasPrefix(prefix), !own.contains(where: name.hasPrefix) else { continue }
      guard unlink(folder + "/" + name) == 0 || errno == ENOENT else {
        throw FileError(.system(errno), path: folder + "/" + name)
      }
    }
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
