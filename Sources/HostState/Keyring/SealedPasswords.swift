import Glibc
import HostSystem

/// `/var/lib/iampass/keyring`: one sealed password for each user, in a file of root's alone that is named by the user's
/// number and by what it is sealed with.
public struct SealedPasswords: Sendable {
  /// What opens a file again.
  public enum Key: String, Sendable, CaseIterable {
    /// A key on this computer's disk.
    case host
    /// The same key, and the TPM 2 of this computer.
    case tpm2 = "host+tpm2"
  }

  /// In bytes; a larger file is refused.
  private static let greatestSize = 16_384
  private static let forgetting = ".forgotten"

  private let state: RunFolder

  public init(state: RunFolder) { self.state = state }

  /// What the user's password is sealed with; nil if none is kept.
  public func key(of uid: UInt32) throws(FileError) -> Key? {
    let names = try FolderListing.names(in: folder())
    return Key.allCases.first { names.contains(Self.name(uid, $0)) }
  }

  /// The users with a sealed password.
  public func users() throws(FileError) -> [UInt32] {
    let names = try FolderListing.names(in: folder())
    return Set(names.compactMap { $0.split(separator: ".").first.flatMap { UInt32($0) } }).sorted()
  }

  public func read(_ uid: UInt32, _ key: Key) throws(FileError) -> [UInt8] {
    try SecureFile.read(folder() + "/" + Self.name(uid, key), privacy: .secret, limit: Self.greatestSize)
  }

  /// When ``forget(_:)`` was last called, for any user.
  public struct Forgetting: Equatable, Sendable {
    fileprivate let inode: UInt
    fileprivate let seconds: Int
    fileprivate let nanoseconds: Int
  }

  /// Nil if nothing was ever forgotten. Sealing takes seconds: whoever seals asks for this before.
  public func lastForgetting() throws(FileError) -> Forgetting? {
    let path = try folder() + "/" + Self.forgetting
    var found = stat()
    guard lstat(path, &found) == 0 else {
      if errno == ENOENT { return nil }
      throw FileError(.system(errno), path: path)
    }
    return Forgetting(inode: UInt(found.st_ino), seconds: found.st_mtim.tv_sec, nanoseconds: found.st_mtim.tv_nsec)
  }

  /// Replaces what was kept of the user, unless something was forgotten since `began`: then nothing is written.
  ///
  /// - Parameter began: ``lastForgetting()`` when the password was taken for sealing.
  /// - Returns: whether it was written.
  public func write(_ sealed: [UInt8], of uid: UInt32, _ key: Key, since began: Forgetting?) throws(FileError) -> Bool {
    try alone { () throws(FileError) -> Bool in
      guard try lastForgetting() == began else { return false }
      try AtomicFile.write(sealed, to: folder() + "/" + Self.name(uid, key), mode: 0o600)
      for other in Key.allCases where other != key { try remove(uid, other) }
      return true
    }
  }

  /// Also what is being sealed now is not kept. Nothing if none is kept.
  public func forget(_ uid: UInt32) throws(FileError) {
    try alone { () throws(FileError) -> Void in
      try AtomicFile.write([], to: folder() + "/" + Self.forgetting, mode: 0o600)
      for key in Key.allCases { try remove(uid, key) }
    }
  }

  /// No other process writes or forgets meanwhile. All of them are root's.
  private func alone<Result>(_ act: () throws(FileError) -> Result) throws(FileError) -> Result {
    let path = try folder()
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(.system(errno), path: path) }
    defer { close(descriptor) }
    try FileLock.take(descriptor, path: path)
    return try act()
  }

  private func remove(_ uid: UInt32, _ key: Key) throws(FileError) {
    let path = try folder() + "/" + Self.name(uid, key)
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError(.system(errno), path: path) }
  }

  private func folder() throws(FileError) -> String { try state.folder("keyring") }

  private static func name(_ uid: UInt32, _ key: Key) -> String { "\(uid).\(key.rawValue)" }
}
