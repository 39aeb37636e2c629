import CHost
import Glibc
import HostSystem
import IAMPASSServer

/// The file of a backup that root makes of another user's database. That user cannot change the way to it, and never has
/// the file open.
final class BackupFile {
  private let path: String
  private let place: SafePath.Place
  private let file: Descriptor
  /// Its name until it is whole, if the file system has no files without a name.
  private let partial: String?

  /// Makes the file, without its name.
  ///
  /// - Parameter owner: the user and the group from whom it is kept.
  init(_ path: String, keptFrom owner: (user: uid_t, group: gid_t)) throws(BackupError) {
    let place: SafePath.Place
    do throws(PathFault) {
      place = try SafePath.place(of: try BackupFile.whole(path), keptFrom: owner.user, owner.group)
    } catch { throw BackupFile.problem(error, path) }
    var found = stat()
    guard fstatat(place.folder.number, place.name, &found, AT_SYMLINK_NOFOLLOW) != 0 else {
      throw BackupError(.exists, path)
    }
    var made = iampass_new_file(place.folder.number, nil)
    var partial: String?
    if made < 0 {
      let name = "\(place.name).partial-\(UInt64.random(in: .min ... .max))"
      made = iampass_new_file(place.folder.number, name)
      partial = name
    }
    guard made >= 0 else { throw BackupFile.problem(errno, path) }
    self.path = path
    self.place = place
    file = Descriptor(made)
    self.partial = partial
  }

  deinit { if let partial { unlinkat(place.folder.number, partial, 0) } }

  func append(_ bytes: [UInt8]) throws(BackupError) {
    if let failure = WholeText.write(bytes, to: file.number) { throw BackupFile.problem(failure, path) }
  }

  /// Gives the file its name once it is on the disk. The name is on the disk when this returns.
  func takeName() throws(BackupError) {
    guard fsync(file.number) == 0 else { throw BackupFile.problem(errno, path) }
    // Unlike rename(2), this does not replace a file.
    let own = "/proc/self/fd/\(file.number)"
    guard linkat(AT_FDCWD, own, place.folder.number, place.name, AT_SYMLINK_FOLLOW) == 0 else {
      let failure = errno
      throw failure == EEXIST ? BackupError(.exists, path) : BackupFile.problem(failure, path)
    }
    // fsync(2) does not take the folder's descriptor, which is for its path alone.
    let folder = iampass_open_beneath(
      place.folder.number, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 1)
    guard folder >= 0 else { throw BackupFile.problem(errno, path) }
    let opened = Descriptor(folder)
    guard fsync(opened.number) == 0 else { throw BackupFile.problem(errno, path) }
  }

  /// The path from `/`.
  private static func whole(_ path: String) throws(PathFault) -> String {
    guard !path.hasPrefix("/") else { return path }
    guard let here = getcwd(nil, 0) else { throw PathFault(code: .system(errno), path: path) }
    defer { free(here) }
    return String(cString: here) + "/" + path
  }

  private static func problem(_ number: Int32, _ path: String) -> BackupError {
    BackupError(.notWritten, path, String(cString: strerror(number)))
  }

  private static func problem(_ fault: PathFault, _ path: String) -> BackupError {
    switch fault.code {
    case .ownedByAnother, .writableByOthers: BackupError(.folderOfOwner, path)
    case .notAbsolute, .symbolicLink, .notFolder: problem(ENOTDIR, path)
    case .system(let number): problem(number, path)
    }
  }
}
