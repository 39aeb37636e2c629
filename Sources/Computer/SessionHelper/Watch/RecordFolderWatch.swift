import CHost
import Glibc
import HostState

/// Tells which records were written or removed (inotify(7)).
final class RecordFolderWatch {
  /// Readable when a record was written or removed; -1 if the system does not give a descriptor. Then changes are found
  /// by reading all records.
  let descriptor: Int32
  private var folder: Int32 = -1

  enum News: Equatable {
    case records(Set<String>)
    /// Events were lost: all records must be read.
    case all
  }

  init() { descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) }

  /// Begins, or begins again after the folder was replaced.
  ///
  /// - Returns: whether events may have been missed. All records must be read then.
  func begin(_ path: String) -> Bool {
    guard descriptor >= 0 else { return true }
    guard folder < 0 else { return false }
    let mask =
      IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
    folder = inotify_add_watch(descriptor, path, UInt32(mask))
    return true
  }

  func news() -> News {
    var ids: Set<String> = []
    var wasLost = false
    // A read returns whole events (inotify(7)). The largest has a name of 255 bytes.
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
      while case let count = read(descriptor, buffer.baseAddress, buffer.count), count > 0 {
        var offset = 0
        while offset < count {
          // SAFETY: the kernel puts whole, aligned events into the buffer, and `offset` steps from one to the next.
          let event = (buffer.baseAddress! + offset).assumingMemoryBound(to: inotify_event.self).pointee
          let name =
            event.len == 0
            ? "" : String(cString: (buffer.baseAddress! + offset + 16).assumingMemoryBound(to: CChar.self))
          offset += 16 + Int(event.len)
          if event.mask & UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF) != 0 { stop() }
          if event.mask & UInt32(IN_Q_OVERFLOW) != 0 || folder < 0 { wasLost = true }
          if let id = SessionLedger.recordID(ofFileNamed: name) { ids.insert(id) }
        }
      }
    }
    return wasLost ? .all : .records(ids)
  }

  private func stop() {
    guard folder >= 0 else { return }
    inotify_rm_watch(descriptor, folder)
    folder = -1
  }
}
