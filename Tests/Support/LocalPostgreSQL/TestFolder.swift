import Glibc

/// Where tests put databases.
public enum TestFolder {
  /// More than all databases of a run need, in bytes.
  private static let need: UInt = 8 << 30

  /// Memory, if there is enough: no unit test is about what a power cut leaves, and each commit would wait for the disk.
  public static let path: String = {
    var room = statvfs()
    guard access("/dev/shm", R_OK | W_OK | X_OK) == 0, statvfs("/dev/shm", &room) == 0,
      UInt(room.f_bavail) * UInt(room.f_frsize) >= need
    else { return "/tmp" }
    return "/dev/shm"
  }()
}
