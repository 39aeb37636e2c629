import Glibc
import HostSystem

/// A folder in which requests of strangers cause files. Their number is bounded.
///
/// A file's age goes by its own time, which ``stamp(_:)`` sets to the seconds since boot: the wall clock may be set, and
/// would then make counts that still matter old, or keep old ones until it is right again.
enum BoundedFolder {
  /// Removes files that no longer matter once the folder is full.
  ///
  /// - Parameter isStale: whether a file of this age, in seconds, no longer matters.
  /// - Throws: `ENOSPC` if the folder stays full.
  static func makeRoom(in folder: String, greatestCount: Int, isStale: (Int64) -> Bool) throws(FileError) {
    let names = try self.names(in: folder)
    guard names.count >= greatestCount else { return }
    var left = names.count
    for name in names {
      var found = stat()
      guard lstat(folder + "/" + name, &found) == 0 else { continue }
      if isStale(age(found)), unlink(folder + "/" + name) == 0 { left -= 1 }
    }
    guard left < greatestCount else { throw FileError(.system(ENOSPC), path: folder) }
  }

  /// Removes the older half of the files once the folder is full.
  static func forgetOldest(in folder: String, greatestCount: Int) throws(FileError) {
    let names = try self.names(in: folder)
    guard names.count >= greatestCount else { return }
    let times = names.map { (name) -> (name: String, time: Int) in
      var found = stat()
      return (name, lstat(folder + "/" + name, &found) == 0 ? found.st_mtim.tv_sec : 0)
    }
    for file in times.sorted(by: { $0.time < $1.time }).prefix(names.count / 2) { unlink(folder + "/" + file.name) }
  }

  /// Notes that the file was written now. If that fails, its age goes by the wall clock.
  static func stamp(_ path: String) {
    let now = timespec(tv_sec: Int(BootTime.seconds()), tv_nsec: 0)
    _ = utimensat(AT_FDCWD, path, [now, now], AT_SYMLINK_NOFOLLOW)
  }

  /// A file without a stamp has the wall clock's time, which is later than any time since boot.
  private static func age(_ found: stat) -> Int64 {
    let written = Int64(found.st_mtim.tv_sec)
    let sinceBoot = BootTime.seconds() - written
    return sinceBoot >= 0 ? sinceBoot : Int64(time(nil)) - written
  }

  static func names(in folder: String) throws(FileError) -> [String] {
    try FolderListing.names(in: folder).filter { !$0.hasPrefix(".") }
  }
}
