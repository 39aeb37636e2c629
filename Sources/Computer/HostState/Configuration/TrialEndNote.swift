import Glibc
import HostSystem

/// A file beside the configuration that says when a trial has switched sign-in by phone off. It stays until an
/// administrator switches sign-in by phone on or off.
public struct TrialEndNote {
  /// Bytes of the file: a number of seconds and an end of line.
  private static let greatestSize = 32

  public let path: String

  /// - Parameter configurationPath: the path of `iampass.conf`.
  public init(besides configurationPath: String) {
    path = SetupPlace(configuration: configurationPath).trialEnd
  }

  /// - Parameter time: when the trial ended, in Unix seconds.
  public func write(_ time: Int64) throws(FileError) {
    try AtomicFile.write(Array("\(time)\n".utf8), to: path, mode: 0o600)
  }

  public func forget() { unlink(path) }

  /// Whether a trial has ended. An unreadable note counts too: an administrator must look at it.
  public var isThere: Bool { access(path, F_OK) == 0 }

  /// When the trial ended, in Unix seconds; nil if the note has no readable time.
  public var time: Int64? {
    guard let bytes = try? SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    return lines.first.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
  }
}
