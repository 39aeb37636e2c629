import CHost
import Glibc

/// How a request on one ssh connection ended. sshd authenticates each try in a fresh child, so that PAM data does not
/// carry it to the next one: the connection, which is the children's parent, is the memory.
public struct ConnectionMemory: Sendable {
  private static let greatestFileCount = 4_096
  /// Longer than any connection stays unauthenticated (sshd's LoginGraceTime is 120 s), in seconds.
  private static let greatestAge: Int64 = 3_600

  private let run: RunFolder

  public init(run: RunFolder) { self.run = run }

  /// What was remembered for this connection; nil where no request was sent on it.
  public func ending(on connection: ProcessIdentity) throws(FileError) -> String? {
    let path = try file(connection)
    guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
    return String(decoding: try SecureFile.read(path, privacy: .secret, limit: 64), as: UTF8.self)
  }

  public func remember(_ ending: String, on connection: ProcessIdentity) throws(FileError) {
    let path = try file(connection)
    let folder = try self.folder()
    try BoundedFolder.makeRoom(in: folder, greatestCount: Self.greatestFileCount) { $0 > Self.greatestAge }
    try AtomicFile.write(Array(ending.utf8), to: path, mode: 0o600)
  }

  private func folder() throws(FileError) -> String {
    _ = try run.folder("attempts")
    return try run.folder("attempts/connections")
  }

  private func file(_ connection: ProcessIdentity) throws(FileError) -> String {
    try folder() + "/\(connection.pid)-\(connection.startTime)"
  }
}
