import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// One ssh connection's tries as one user.
///
/// With keyboard-interactive the parent is the connection's own process. With sshd's `password` method the parent is
/// the listener, which all connections share. User and remote host then tell them apart.
public struct SSHConnection: Sendable {
  let parent: ProcessIdentity
  let user: String
  let remoteHost: String

  public init(parent: ProcessIdentity, user: String, remoteHost: String) {
    self.parent = parent
    self.user = user
    self.remoteHost = remoteHost
  }

  /// Neither name ever becomes part of a path.
  var fileName: String {
    let names = Digest.hexadecimal(Digest.sha256(Array((user + "\0" + remoteHost).utf8)))
    return "\(parent.pid)-\(parent.startTime)-\(names)"
  }
}

/// How a request on one ssh connection ended. sshd authenticates each try in a new child, so PAM data does not last
/// until the next try. The ending is therefore kept under the connection, which is the children's parent.
public struct ConnectionMemory: Sendable {
  private static let greatestFileCount = 4_096
  /// How long an ending is kept, in seconds. It is longer than a connection stays unauthenticated (sshd's
  /// LoginGraceTime is 120 s).
  public static let greatestAge: Int64 = 180

  private let run: RunFolder

  public init(run: RunFolder) { self.run = run }

  /// The ending of this connection's last request; nil if it has made none.
  ///
  /// - Parameter now: seconds after boot; the wall clock may be set while a connection waits.
  public func ending(
    on connection: SSHConnection, now: Int64 = BootTime.seconds()
  ) throws(FileError) -> String? {
    let path = try file(connection)
    var found = stat()
    guard lstat(path, &found) == 0 else {
      if errno == ENOENT { return nil }
      throw FileError(.system(errno), path: path)
    }
    let text = String(decoding: try SecureFile.read(path, privacy: .secret, limit: 64), as: UTF8.self)
    let words = text.split(separator: " ", maxSplits: 1)
    guard words.count == 2, let time = Int64(words[0]) else {
      // The previous version did not write a time.
      return Int64(Glibc.time(nil)) - Int64(found.st_mtim.tv_sec) <= Self.greatestAge ? text : nil
    }
    return now - time <= Self.greatestAge ? String(words[1]) : nil
  }

  /// - Parameter now: seconds after boot.
  public func remember(
    _ ending: String, on connection: SSHConnection, now: Int64 = BootTime.seconds()
  ) throws(FileError) {
    let path = try file(connection)
    let folder = try self.folder()
    try BoundedFolder.makeRoom(in: folder, greatestCount: Self.greatestFileCount) { $0 > Self.greatestAge }
    try AtomicFile.write(Array("\(now) \(ending)".utf8), to: path, mode: 0o600)
    BoundedFolder.stamp(path)
  }

  private func folder() throws(FileError) -> String {
    return try run.folder("attempts/connections")
  }

  private func file(_ connection: SSHConnection) throws(FileError) -> String {
    try folder() + "/" + connection.fileName
  }
}
