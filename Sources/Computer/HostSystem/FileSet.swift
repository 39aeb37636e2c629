import CHost
import Glibc

/// Changes several files of one folder together. If the writer is killed, ``recover(in:)`` leaves all old files or all
/// new ones.
///
/// The new files are written beside the old ones, then a list of their names. Once the list is in place, the change
/// counts.
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

  /// The name of the list, which has one file name on each line.
  private static let list = "iampassctl.pending"
  private static let suffix = ".pending"
  private static let greatestListSize = 4_096

  /// Replaces the files. The caller holds the folder's lock.
  public static func write(_ entries: [Entry], in folder: String) throws(FileError) {
    try write(entries, in: folder, flush: FolderFlush.settle)
  }

  /// - Parameter flush: what flushes a folder.
  package static func write(
    _ entries: [Entry], in folder: String, flush: (String) throws(FileError) -> Void
  ) throws(FileError) {
    for entry in entries {
      try AtomicFile.write(entry.bytes, to: folder + "/" + entry.name + suffix, mode: entry.mode)
    }
    // After a power cut, a list must not count without one of its files, and an older list must not count with them.
    try flush(folder)
    let names = entries.map { $0.name + "\n" }.joined()
    try AtomicFile.write(Array(names.utf8), to: folder + "/" + list, mode: 0o600)
    try finish(in: folder, flush: flush)
  }

  /// Whether a change counts that is not finished: it is under way, or its writer was killed. Until it is finished, some
  /// files may be new and others old.
  public static func isUnfinished(in folder: String) -> Bool { access(folder + "/" + list, F_OK) == 0 }

  /// Finishes a killed writer's change if its list is in place. Otherwise removes the new files. The caller holds the
  /// lock.
  public static func recover(in folder: String) throws(FileError) {
    if isUnfinished(in: folder) { return try finish(in: folder, flush: FolderFlush.settle) }
    for name in ["iampass.conf", "credentials", "service-ca.pem"] { unlink(folder + "/" + name + suffix) }
  }

  private static func finish(
    in folder: String, flush: (String) throws(FileError) -> Void
  ) throws(FileError) {
    let path = folder + "/" + list
    // A power cut must not keep a new name and lose the list.
    try flush(folder)
    let bytes = try SecureFile.read(path, privacy: .secret, limit: greatestListSize)
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let name = String(decoding: line, as: UTF8.self)
      guard !name.contains("/") else { throw FileError(.system(EINVAL), path: path) }
      let target = folder + "/" + name
      // ENOENT: the file was already renamed before the writer was killed.
      guard rename(target + suffix, target) == 0 || errno == ENOENT else {
        throw FileError(.system(errno), path: target)
      }
    }
    // The new names must be on the disk before the list is removed.
    try flush(folder)
    guard unlink(path) == 0 else { throw FileError(.system(errno), path: path) }
  }
}
