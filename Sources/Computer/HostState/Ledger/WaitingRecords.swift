import Glibc
import HostSystem
import IAMPASSProtocol

/// `/run/iampass/waiting`: which record waits for the session that a process opens.
///
/// A program may authenticate in a child, whose PAM data is lost, and any module can change the PAM environment. So
/// there is a file here for each process that may open a record's session, and each PAM service. It has the id of the
/// newest record. The cost of reading it does not depend on the number of open sessions.
///
/// A file stays until that record is bound, its sign-in has failed, or the process has ended. So the file may outlive
/// the record. A process that got an approval therefore cannot open an unwatched session.
struct WaitingRecords {
  /// If there are more files, those of ended processes are removed. Only processes of approved sign-ins have files
  /// here.
  private static let greatestFileCount = 4_096
  private static let greatestSize = 64

  let run: RunFolder

  /// The id of the record that waits for this process; nil if none does.
  func id(for process: ProcessIdentity, _ service: String) throws(LedgerError) -> String? {
    let path = folderPath + "/" + Self.name(process, service)
    let bytes: [UInt8]
    // This does not make the folder: a sign-in by password must not depend on it.
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch
      where error.code == .missing
    { return nil } catch { throw .file(error) }
    let id = String(decoding: bytes, as: UTF8.self)
    guard FileID.isValid(id) else { throw .notARecord }
    return id
  }

  /// Whether a record may wait for a process of which only the number is known.
  func mayHaveRecord(forNumber pid: Int32) throws(LedgerError) -> Bool {
    do { return try FolderListing.names(in: folderPath).contains { $0.hasPrefix("\(pid)-") } } catch
      where error.code == .system(ENOENT)
    { return false } catch { throw .file(error) }
  }

  func add(_ record: SessionRecord) throws(LedgerError) {
    do throws(FileError) {
      let folder = try run.folder(Self.folderName)
      for process in Self.openers(of: record) {
        let name = Self.name(process, record.service)
        try makeRoom(in: folder)
        // Two children of one process may write at once: each has its own file name.
        let file = try NewFile(for: "\(folder)/\(name)-\(record.id)", mode: 0o600)
        try file.write(Array(record.id.utf8))
        try file.takePlace(of: folder + "/" + name)
      }
    } catch { throw .file(error) }
  }

  /// Removes the record's files, but not those of a newer record. If a file cannot be removed, the process's next
  /// session is refused.
  func remove(_ record: SessionRecord) {
    for process in Self.openers(of: record) {
      guard let id = try? id(for: process, record.service), id == record.id else { continue }
      unlink(folderPath + "/" + Self.name(process, record.service))
    }
  }

  /// Removes the files that these processes have of a record which cannot be read any more.
  func remove(_ id: String, of processes: [ProcessIdentity]) {
    for name in (try? FolderListing.names(in: folderPath)) ?? [] {
      guard let process = Self.process(ofFileNamed: name), processes.contains(process) else { continue }
      let path = folderPath + "/" + name
      let bytes = try? SecureFile.read(path, privacy: .secret, limit: Self.greatestSize)
      if bytes?.elementsEqual(id.utf8) == true { unlink(path) }
    }
  }

  /// Removes the files of processes that have ended.
  func removeEnded() {
    for name in (try? FolderListing.names(in: folderPath)) ?? [] {
      guard let process = Self.process(ofFileNamed: name), process.presence == .gone else { continue }
      unlink(folderPath + "/" + name)
    }
  }

  private func makeRoom(in folder: String) throws(FileError) {
    guard try BoundedFolder.names(in: folder).count >= Self.greatestFileCount else { return }
    removeEnded()
    guard try BoundedFolder.names(in: folder).count < Self.greatestFileCount else {
      throw FileError(.system(ENOSPC), path: folder)
    }
  }

  private static let folderName = "waiting"

  private var folderPath: String { run.path + "/" + Self.folderName }

  /// sshd authenticates in a child and opens the session in its parent.
  private static func openers(of record: SessionRecord) -> Set<ProcessIdentity> { [record.process, record.parent] }

  /// The file's name. The service's name never becomes part of a path.
  private static func name(_ process: ProcessIdentity, _ service: String) -> String {
    "\(process.pid)-\(process.startTime)-\(Digest.hexadecimal(Digest.sha256(Array(service.utf8))))"
  }

  /// Nil if the file does not belong to a process.
  private static func process(ofFileNamed name: String) -> ProcessIdentity? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 3, let pid = Int32(parts[0]), pid > 0, let start = UInt64(parts[1]) else { return nil }
    return ProcessIdentity(pid: pid, startTime: start)
  }
}
