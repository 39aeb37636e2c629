import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// What a file of administrators says.
struct FleetNote {
  static let greatestSize = 256 * 1024

  let credential: String
  /// Nil: root has given up that administrators sign for this credential.
  let fleet: Fleet?

  var bytes: [UInt8] {
    JSON.object(["credential": .string(credential), "fleet": fleet?.anchor.json ?? .null]).encoded()
      + [UInt8(ascii: "\n")]
  }
}

// A computer that joins again must not come to believe the service by it alone. So the files of all its credentials count.
extension Fleet {
  /// Whom this computer believes before it joins again: the administrators of this credential or, if nothing is kept for
  /// it, those of another one. Nil if none have signed here, or if they were given up.
  ///
  /// - Parameter folder: `state_dir/service`.
  /// - Parameter credential: in force; nil without one.
  public static func former(in folder: String, credential: String?) throws(FleetError) -> Fleet? {
    if let credential {
      if let note = try note(in: folder, of: credential) { return note.fleet }
      guard try !hasSignedList(in: folder, of: credential) else {
        throw .missing(path: path(in: folder, credential: credential))
      }
    }
    return try others(in: folder).first
  }

  /// What a join may keep for its new credential, whose code names this fleet: the administrators are those of `former`, or
  /// begin there and must prove that they follow. Nil for administrators who cannot follow.
  public func succeeding(_ former: Fleet) -> Fleet? {
    let (old, new) = (former.administrators, administrators)
    if Digest.areEqual(old.digest, new.digest) { return self }
    guard new.number > old.number else { return nil }
    return FleetAnchor(administrators: old, application: anchor.application, group: anchor.group).map {
      Fleet(credential: credential, anchor: $0)
    }
  }

  /// Notes that root has given up the administrators, if any have a file here: the service alone is believed under this
  /// credential.
  public static func believeService(as credential: String, in state: RunFolder) throws(FileError) {
    guard try !files(in: state.path + "/service").isEmpty else { return }
    try writeNone(for: credential, in: state)
  }

  /// Notes the same of a credential that believes the service already: the file of another one, which is to follow, must not
  /// end that.
  public static func keepBelieving(_ credential: String, in state: RunFolder) throws(FileError) {
    let folder = state.path + "/service"
    do throws(FleetError) {
      guard try note(in: folder, of: credential) == nil, try kept(in: folder, credential: credential) == nil else {
        return
      }
    } catch { return }
    try writeNone(for: credential, in: state)
  }

  private static func writeNone(for credential: String, in state: RunFolder) throws(FileError) {
    let path = path(in: try state.folder("service"), credential: credential)
    let lock = try EditorLock(of: path)
    defer { withExtendedLifetime(lock) {} }
    try state.keep(FleetNote(credential: credential, fleet: nil).bytes, at: path, mode: 0o644)
  }

  /// Removes what is kept for other credentials than these. Does not make the folder.
  public static func forget(except credentials: [String], in state: RunFolder) throws(FileError) {
    let folder = state.path + "/service"
    let own = credentials.map(name)
    for name in try files(in: folder) where !own.contains(where: name.hasPrefix) {
      guard unlink(folder + "/" + name) == 0 || errno == ENOENT else {
        throw FileError(.system(errno), path: folder + "/" + name)
      }
    }
  }

  /// Nil if there is no file for the credential.
  static func note(in folder: String, of credential: String) throws(FleetError) -> FleetNote? {
    guard let note = try note(path(in: folder, credential: credential)) else { return nil }
    guard note.credential == credential else { throw .damaged(path: path(in: folder, credential: credential)) }
    return note
  }

  private static func note(_ path: String) throws(FleetError) -> FleetNote? {
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .readableByAll, limit: FleetNote.greatestSize) } catch {
      guard error.code == .missing else { throw .file(error) }
      return nil
    }
    guard let json = try? JSON(parsing: bytes), let credential = json["credential"]?.string, let fleet = json["fleet"]
    else { throw .damaged(path: path) }
    guard fleet != .null else { return FleetNote(credential: credential, fleet: nil) }
    guard let anchor = try? FleetAnchor(fleet) else { throw .damaged(path: path) }
    return FleetNote(credential: credential, fleet: Fleet(credential: credential, anchor: anchor))
  }

  /// Those of all credentials, the newest set first.
  static func others(in folder: String) throws(FleetError) -> [Fleet] {
    let names: [String]
    do { names = try files(in: folder) } catch { throw .file(error) }
    var found: [Fleet] = []
    for name in names.sorted() where name.utf8.count == prefix.utf8.count + markLength {
      let path = folder + "/" + name
      guard let note = try note(path) else { continue }
      guard Self.name(of: note.credential) == name else { throw .damaged(path: path) }
      if let fleet = note.fleet { found.append(fleet) }
    }
    return found.sorted { $0.administrators.number > $1.administrators.number }
  }

  /// The names of the files of administrators, with what is beside them; none without the folder.
  private static func files(in folder: String) throws(FileError) -> [String] {
    let names: [String]
    do { names = try FolderListing.names(in: folder) } catch {
      guard error.code == .system(ENOENT) else { throw error }
      return []
    }
    return names.filter { $0.hasPrefix(prefix) }
  }
}
