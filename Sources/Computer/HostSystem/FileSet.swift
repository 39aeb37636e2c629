import CHost
import Glibc

/// Several files of one folder that change together. If the writer is killed, all files are the old ones, or all are
/// the new ones once ``recover(in:)`` has run.
///
/// The new texts are written beside the old ones, then a list of their names; with the list in place the change counts.
public enum FileSet {
  public struct Entry: Sendable {
    public let name: String
    public let bytes: [UInt8]
    /// Permission bits.
    public let mode: UInt32

    public init(name: String, bytes: [UInt8], mode: UInt32) {
      self.name = name
      self.bytes = bytes
      self.mode = mode
    }
  }

  /// The list's name; one name a line.
  private static let list = "iampassctl.pending"
  private static let suffix = ".pending"
  private static let greatestListSize = 4_096

  /// Replaces the files. The caller holds the folder's lock.
  public static func write(_ entries: [Entry], in folder: String) throws(FileError) {
    for entry in entries {
      try AtomicFile.write(entry.bytes, to: folder + "/" + entry.name + suffix, mode: entry.mode)
    }
    let names = entries.map { $0.name + "\n" }.joined()
    try AtomicFile.write(Array(names.utf8), to: folder + "/" + list, mode: 0o600)
    try finish(in: folder)
  }

  /// Finishes a killed writer's change if its list is in place, and removes the new texts otherwise. The caller holds
  /// the lock.
  public static func recover(in folder: String) throws(FileError) {
    if access(folder + "/" + list, F_OK) == 0 { return try finish(in: folder) }
    for name in ["iampass.conf", "credentials", "service-ca.pem"] { unlink(folder + "/" + name + suffix) }
  }

  private static func finish(in folder: String) throws(FileError) {
    let path = folder + "/" + list
    let bytes = try SecureFile.read(path, privacy: .secret, limit: greatestListSize)
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let name = String(decoding: line, as: UTF8.self)
      guard !name.contains("/") else { throw FileError(.system(EINVAL), path: path) }
      let target = folder + "/" + name
      // Renamed before: the writer was killed in the middle of this.
      guard rename(target + suffix, target) == 0 || errno == ENOENT else {
        throw FileError(.system(errno), path: target)
      }
    }
    // The names reach the disk before the list that would bring them again goes.
    try FolderFlush.flush(folder)
    guard unlink(path) == 0 else { throw FileError(.system(errno), path: path) }
  }
}
