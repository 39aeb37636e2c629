import GRDB
import Glibc
import IAMPASSProtocol

/// Why a copy could not be made.
public struct BackupError: Error, Sendable {
  public enum Code: Sendable {
    /// The file exists. It is not overwritten.
    case exists
    case notWritten
    /// The owner of the database, whom root does not trust, can change the folder of the file.
    case folderOfOwner
    /// The data folder, which is the path here, took no copy to pass on.
    case notCopied
  }

  public let code: Code
  public let path: String
  /// The message of the system or SQLite.
  public let detail: String

  package init(_ code: Code, _ path: String, _ detail: String = "") {
    self.code = code
    self.path = path
    self.detail = detail
  }
}

extension SQLiteStorage {
  /// Writes one consistent copy of all data to a new file with mode 0600. The service may be running.
  ///
  /// The file gets its name only once it is complete and on the disk. The name is on the disk when this returns.
  public func backUp(to path: String) async throws {
    guard access(path, F_OK) != 0 else { throw BackupError(.exists, path) }
    let partial = path + ".partial-" + (try RandomValue.identifier())
    let descriptor = open(partial, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw BackupError(.notWritten, path, Self.systemError) }
    defer {
      Glibc.close(descriptor)
      unlink(partial)
    }
    do { try await writeCopy(to: partial) } catch { throw BackupError(.notWritten, path, "\(error)") }
    guard fsync(descriptor) == 0 else { throw BackupError(.notWritten, path, Self.systemError) }
    // Unlike rename(2), this does not replace a file.
    guard Glibc.link(partial, path) == 0 else {
      throw BackupError(errno == EEXIST ? .exists : .notWritten, path, Self.systemError)
    }
    let end = path.lastIndex(of: "/")
    let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard FolderSync.flush(folder) else { throw BackupError(.notWritten, path, Self.systemError) }
  }

  /// Fills an empty file. A service that begins with it knows that it is a copy.
  func writeCopy(to path: String) async throws {
    try await copyAll(to: path)
    let copy = try DatabaseQueue(path: path)
    try await copy.write(RestoredCopy.mark)
    try copy.close()
  }

  static var systemError: String { String(cString: strerror(errno)) }
}
