import CHost
import Glibc

/// `/run/iampass` and the folders in it. Only root can use them. They are made when they are first needed.
public struct RunFolder: Sendable {
  public let path: String
  private let flush: @Sendable (String) throws(FileError) -> Void

  public init(path: String) { self.init(path: path, flush: FolderFlush.settle) }

  /// - Parameter flush: what flushes a folder.
  package init(path: String, flush: @escaping @Sendable (String) throws(FileError) -> Void) {
    self.path = path
    self.flush = flush
  }

  /// Writes a file whole or leaves the old one. When this returns, its name is on the disk, with those of the folders below
  /// this one, which may be new: no power cut loses the file and keeps what is done afterwards, even on another file
  /// system. A caller for which this folder itself may be new flushes the folder above it.
  ///
  /// - Parameters:
  ///   - path: in this folder or below it.
  ///   - mode: permission bits of the new file.
  /// - Throws: also if a folder cannot be flushed. The new file then has its place, but a power cut may take it.
  public func keep(_ bytes: [UInt8], at path: String, mode: UInt32) throws(FileError) {
    try AtomicFile.write(bytes, to: path, mode: mode)
    try FolderFlush.settleName(of: path, upTo: self.path, by: flush)
  }

  /// Makes and checks a folder below this one, and returns its path. Throws for a folder that another user has made.
  ///
  /// - Parameter name: one part, or several with `/` between them. Each is made and checked.
  public func folder(_ name: String) throws(FileError) -> String {
    var place: SafePath.Place
    do throws(PathFault) { place = try SafePath.place(of: path) } catch { throw FileError(error) }
    var here = try Self.make(place)
    for part in name.split(separator: "/") {
      // This starts at the checked folder, so that the path is walked once.
      place = SafePath.Place(folder: here, name: String(part), path: place.path + "/" + part)
      here = try Self.make(place)
    }
    return place.path
  }

  private static let mode: mode_t = 0o700

  private static func make(_ place: SafePath.Place) throws(FileError) -> Descriptor {
    let path = place.path
    var isNew = false
    var (folder, status): (Descriptor, stat)
    do throws(PathFault) { (folder, status) = try place.look(O_RDONLY | O_DIRECTORY) } catch {
      // The folder nearly always exists.
      guard error.code == .system(ENOENT) else { throw FileError(error) }
      isNew = mkdirat(place.folder.number, place.name, mode) == 0
      guard isNew || errno == EEXIST else { throw FileError(.system(errno), path: path) }
      do throws(PathFault) { (folder, status) = try place.look(O_RDONLY | O_DIRECTORY) } catch {
        throw FileError(error)
      }
    }
    // The host's umask may be any.
    guard !isNew || fchmod(folder.number, Self.mode) == 0 else { throw FileError(.system(errno), path: path) }
    let found = status.st_mode & 0o7777
    guard status.st_uid == 0 else { throw FileError(.notOwnedByRoot, path: path, mode: found) }
    guard found & 0o022 == 0 else { throw FileError(.writableByOthers, path: path, mode: found) }
    guard found & 0o077 == 0 else { throw FileError(.readableByOthers, path: path, mode: found) }
    return folder
  }
}

extension FileError {
  /// An error about the path to a folder.
  fileprivate init(_ fault: PathFault) {
    switch fault.code {
    case .symbolicLink: self.init(.symbolicLink, path: fault.path)
    case .notFolder, .system(ENOTDIR): self.init(.notRegular, path: fault.path)
    case .ownedByAnother, .writableByOthers: self.init(.folderWritableByOthers, path: fault.path)
    case .notAbsolute: self.init(.system(EINVAL), path: fault.path)
    case .system(let number): self.init(.system(number), path: fault.path)
    }
  }
}

package enum FolderListing {
  /// The names in a folder, in no order, with `.` and `..`. A folder that cannot be read to its end is an error: the
  /// names that are missing may be those that count.
  package static func names(in folder: String) throws(FileError) -> [String] {
    guard let stream = opendir(folder) else { throw FileError(.system(errno), path: folder) }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { break }
      // SAFETY: readdir ends d_name with a zero; the entry lives until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      names.append(name)
    }
    guard errno == 0 else { throw FileError(.system(errno), path: folder) }
    return names
  }
}

/// Writes a whole file or leaves the old one. The new file is written beside it, synchronised and renamed.
public enum AtomicFile {
  /// A power cut may bring the old file back: the new name is not flushed. Do not use this for a file that must be on the
  /// disk before something else is done; ``RunFolder/keep(_:at:mode:)`` is for that. All files in `/run` go with the power,
  /// and a sign-in does not wait for the disk where nothing relies on it.
  ///
  /// - Parameter mode: permission bits of the new file.
  public static func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws(FileError) {
    let file = try NewFile(for: path, mode: mode)
    try file.write(bytes)
    try file.takePlace()
  }

  package static func writeAll(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(FileError) {
    if let failure = WholeText.write(bytes, to: descriptor) { throw FileError(.system(failure), path: path) }
  }
}

/// A new file beside the one that it will replace. If it does not replace it, it is removed with this object.
public final class NewFile {
  /// The ending of the new file's name until it takes its place.
  package static let ending = ".new"

  private let path: String
  private let temporary: String
  /// Permission bits.
  private let mode: UInt32
  private let descriptor: Int32
  private var hasItsPlace = false

  /// Opens the new file, which is empty.
  public init(for path: String, mode: UInt32) throws(FileError) {
    self.path = path
    temporary = path + Self.ending
    self.mode = mode
    _ = unlink(temporary)
    descriptor = iampass_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw FileError(.system(errno), path: temporary) }
  }

  deinit {
    // The file could not be opened, so there is nothing to remove.
    guard descriptor >= 0 else { return }
    close(descriptor)
    if !hasItsPlace { unlink(temporary) }
  }

  /// Writes all bytes, once. They are on the disk when this returns.
  public func write(_ bytes: [UInt8]) throws(FileError) {
    try AtomicFile.writeAll(bytes, to: descriptor, path: temporary)
    // The host's umask may be any.
    guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 else {
      throw FileError(.system(errno), path: temporary)
    }
  }

  /// Gives the file to a group. Otherwise it has the caller's group.
  public func give(toGroup group: UInt32) throws(FileError) {
    guard fchown(descriptor, uid_t.max, group) == 0 else { throw FileError(.system(errno), path: temporary) }
  }

  /// - Parameter place: the path to take; nil is the path that the file was opened for.
  public func takePlace(of place: String? = nil) throws(FileError) {
    guard rename(temporary, place ?? path) == 0 else { throw FileError(.system(errno), path: place ?? path) }
    hasItsPlace = true
  }

  /// Takes a path at which there is no file. One of several writers is first, and none waits for another.
  ///
  /// - Returns: false if there is already a file.
  public func takeFreePlace(_ place: String) throws(FileError) -> Bool {
    // The name that it was written under is removed with this object.
    if link(temporary, place) == 0 { return true }
    guard errno == EEXIST else { throw FileError(.system(errno), path: place) }
    return false
  }
}
