import Foundation
import Testing

/// A folder below /tmp with mode 0700, deleted after the test.
final class TemporaryFolder {
  let path: String

  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and returns its path.
  @discardableResult
  func write(_ name: String, _ text: String, mode: UInt32 = 0o600) throws -> String {
    try write(name, Array(text.utf8), mode: mode)
  }

  @discardableResult
  func write(_ name: String, _ bytes: [UInt8], mode: UInt32 = 0o600) throws -> String {
    let full = path + "/" + name
    let file = try #require(fopen(full, "w"))
    #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    fclose(file)
    chmod(full, mode)
    return full
  }
}
