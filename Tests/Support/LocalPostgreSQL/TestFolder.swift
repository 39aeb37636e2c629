import Glibc

/// Where tests put databases.
public enum TestFolder {
  /// Twice what all databases of a run need, in bytes: a PostgreSQL database takes 10 MB, and there are hundreds.
  private static let need: UInt = 12 << 30
  /// `ST_NOEXEC` of statvfs(3): a service's folder also has programs.
  private static let runsNothing: UInt = 8

  /// The folder of this run. It goes with the run, however that ends: memory is not given back to a later run otherwise.
  public static let path: String = {
    var template = Array("\(base)/iampass-run.XXXXXX\0".utf8CString)
    guard let made = mkdtemp(&template) else { return base }
    let folder = String(cString: made)
    return keeper(of: folder) == nil ? base : folder
  }()

  /// Starts what removes a folder with all that is in it once the returned stream is closed, also by the end of this
  /// process: what ends its whole session leaves the keeper.
  ///
  /// - Parameter folder: letters, digits, points, hyphens and slashes.
  public static func keeper(of folder: String) -> UnsafeMutablePointer<FILE>? {
    popen("exec setsid sh -c 'trap \"\" HUP INT TERM; cat >/dev/null; rm -rf \(folder)'", "we")
  }

  /// Memory, if there is enough: no unit test is about what a power cut leaves, and each commit would wait for the disk.
  static let base: String = {
    var room = statvfs()
    guard freeMemory() >= need + need / 2, access("/dev/shm", R_OK | W_OK | X_OK) == 0, statvfs("/dev/shm", &room) == 0,
      UInt(room.f_flag) & runsNothing == 0, UInt(room.f_bavail) * UInt(room.f_frsize) >= need
    else { return "/tmp" }
    return "/dev/shm"
  }()

  /// Bytes that the kernel could give (proc_meminfo(5)); 0 if it does not say. /dev/shm may be as large as all the memory.
  private static func freeMemory() -> UInt {
    guard let file = fopen("/proc/meminfo", "re") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    while fgets(&line, Int32(line.count), file) != nil {
      let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
        separator: " ")
      if words.first == "MemAvailable:", words.count > 1 { return (UInt(words[1]) ?? 0) << 10 }
    }
    return 0
  }
}
