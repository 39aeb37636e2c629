import Glibc
import HostSystem
import IAMPASSProtocol

/// The times before which a user's requests no longer count, from any source, because an administrator has lifted the
/// limits.
///
/// The counts cannot be removed: the names of their files show neither user nor source.
public struct LiftedAttempts: Sendable {
  private static let greatestFileSize = 64

  private let run: RunFolder
  private let now: @Sendable () -> Int64

  /// - Parameter now: seconds after boot.
  public init(run: RunFolder, now: @escaping @Sendable () -> Int64 = BootTime.seconds) {
    self.run = run
    self.now = now
  }

  /// Makes all requests until now no longer count.
  public func lift(_ user: UnixUsername) throws(FileError) {
    try AtomicFile.write(Array("\(now())\n".utf8), to: file(user), mode: 0o600)
  }

  /// When the limits were lifted, in seconds after boot; nil if they were not. An unreadable file lifts nothing.
  func time(of user: UnixUsername) -> Int64? {
    guard let path = try? file(user),
      let bytes = try? SecureFile.read(path, privacy: .secret, limit: Self.greatestFileSize),
      let time = Int64(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)), time <= now()
    else { return nil }
    return time
  }

  private func file(_ user: UnixUsername) throws(FileError) -> String {
    // The name is a hash: a user's name never becomes part of a path.
    try run.folder("attempts/lifted") + "/" + Digest.hexadecimal(Digest.sha256(Array(user.text.utf8)))
  }
}
