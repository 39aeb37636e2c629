import Foundation
import HostState
import Testing

/// A folder below /tmp, deleted after the test.
final class ScratchFolder {
  let path: String

  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and its folders, and returns its path.
  @discardableResult
  func write(_ name: String, _ text: String = "") throws -> String {
    let file = URL(fileURLWithPath: path + "/" + name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    return file.path
  }

  func has(_ name: String) -> Bool { access(path + "/" + name, F_OK) == 0 }
}

/// Alice's session over ssh.
func someSession(_ id: String = "3", uid: UInt32 = 1_000, sessionClass: String = "user", scope: String? = nil)
  -> LogindSession
{
  LogindSession(
    id: id, leader: 42, uid: uid, sessionClass: sessionClass, type: "tty", isRemote: true, seat: "",
    scope: scope ?? "session-\(id).scope")
}
