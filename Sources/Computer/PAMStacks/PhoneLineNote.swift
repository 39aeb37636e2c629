import Glibc
import HostState
import HostSystem

/// The lines that are expected, in a file of root's alone below the state's folder. The helper and `iampassctl enable`
/// write it, and `iampassctl disable` removes it.
public struct PhoneLineNote: Sendable {
  /// 64 services with two lines each, of files with long names.
  private static let greatestSize = 64 * 1024
  private static let (folder, name) = ("pam", "lines")

  private let state: RunFolder

  /// - Parameter state: `state_dir`.
  public init(state: RunFolder) { self.state = state }

  /// Empty without a file. What cannot be understood is left out.
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

  /// Kind, service, `required` or `asked`, and the file: a line each.
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
