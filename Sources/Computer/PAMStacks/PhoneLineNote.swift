import Glibc
import HostState
import HostSystem

/// The expected lines, in a file in `state_dir` that only root can read. The helper and `iampassctl enable` write it,
/// and `iampassctl disable` removes it.
public struct PhoneLineNote: Sendable {
  /// The greatest size in bytes: enough for 64 services with two lines each.
  private static let greatestSize = 64 * 1024
  private static let (folder, name) = ("pam", "lines")

  private let state: RunFolder

  /// - Parameter state: the folder `state_dir`.
  public init(state: RunFolder) { self.state = state }

  /// The lines; empty without a file. Invalid lines are left out.
  public func read() throws(FileError) -> [PhoneLine] {
    let bytes: [UInt8]
    do throws(FileError) { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch {
      guard error.code == .missing else { throw error }
      return []
    }
    return Self.lines(bytes)
  }

  public func write(_ lines: [PhoneLine]) throws(FileError) {
    _ = try state.folder(Self.folder)
    try AtomicFile.write(Self.text(lines), to: path, mode: 0o600)
  }

  public func forget() throws(FileError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError(.system(errno), path: path) }
  }

  private var path: String { "\(state.path)/\(Self.folder)/\(Self.name)" }

  /// The file's text: on each line kind, service, `required` or `asked`, and file.
  static func text(_ lines: [PhoneLine]) -> [UInt8] {
    Array(
      lines.map { "\($0.kind.rawValue) \($0.service) \($0.isRequired ? "required" : "asked") \($0.file)\n" }.joined()
        .utf8)
  }

  static func lines(_ bytes: [UInt8]) -> [PhoneLine] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { text in
      let parts = text.split(separator: " ", maxSplits: 3).map(String.init)
      guard parts.count == 4, let kind = PhoneLine.Kind(rawValue: parts[0]), ["required", "asked"].contains(parts[2])
      else { return nil }
      return PhoneLine(kind, of: parts[1], in: parts[3], isRequired: parts[2] == "required")
    }
  }
}
