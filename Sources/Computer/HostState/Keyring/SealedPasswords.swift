import Glibc
import HostSystem

/// `/var/lib/iampass/keyring`: one sealed password for each user. Only root can read the file. Its name has the uid and
/// the kind of key.
public struct SealedPasswords: Sendable {
  /// What a password is sealed with.
  public enum Key: String, Sendable, CaseIterable {
    /// A key on this computer's disk.
    case host
    /// The same key, and the TPM 2 of this computer.
    case tpm2 = "host+tpm2"
  }

  /// In bytes; a larger file is refused.
  private static let greatestSize = 16_384
  private static let place = "keyring"
  private static let forgetting = ".forgotten"

  private let state: RunFolder

  public init(state: RunFolder) { self.state = state }

  /// The kind of key that the user's password is sealed with; nil if no password is kept.
  public func key(of uid: UInt32) throws(FileError) -> Key? {
    let names = try FolderListing.names(in: folder())
    return Key.allCases.first { names.contains(Self.name(uid, $0)) }
  }

  /// The users with a sealed password. Does not make the folder.
  public func users() throws(FileError) -> [UInt32] {
    guard !isUnused else { return [] }
    return Set(try FolderListing.names(in: folder()).compactMap(Self.uid)).sorted()
  }

  /// The user's name, as `iampassctl keyring forget` takes it; the uid if the system does not know a name.
  public static func owner(_ uid: UInt32) -> String { (try? SystemUser.find(uid: uid))?.name.text ?? String(uid) }

  public func read(_ uid: UInt32, _ key: Key) throws(FileError) -> [UInt8] {
    try SecureFile.read(folder() + "/" + Self.name(uid, key), privacy: .secret, limit: Self.greatestSize)
  }

  /// When a password of any user was last forgotten.
  public struct Forgetting: Equatable, Sendable {
    fileprivate let inode: UInt
    fileprivate let seconds: Int
    fileprivate let nanoseconds: Int
  }

  /// Nil if no password was ever forgotten. Sealing takes seconds, so the sealing program reads this before it begins.
  public func lastForgetting() throws(FileError) -> Forgetting? {
    let path = try folder() + "/" + Self.forgetting
    var found = stat()
    guard lstat(path, &found) == 0 else {
      if errno == ENOENT { return nil }
      throw FileError(.system(errno), path: path)
    }
    return Forgetting(inode: UInt(found.st_ino), seconds: found.st_mtim.tv_sec, nanoseconds: found.st_mtim.tv_nsec)
  }

  /// Replaces the user's sealed password, unless a password was forgotten since `began`. Then nothing is written.
  ///
  /// - Parameter began: ``lastForgetting()`` when the password was taken for sealing.
  /// - Returns: whether it was written.
  public func write(_ sealed: [UInt8], of uid: UInt32, _ key: Key, since began: Forgetting?) throws(FileError) -> Bool {
    try alone { () throws(FileError) -> Bool in
      guard try lastForgetting() == began else { return false }
      try AtomicFile.write(sealed, to: folder() + "/" + Self.name(uid, key), mode: 0o600)
      for other in Key.allCases where other != key { try remove(folder() + "/" + Self.name(uid, other)) }
      return true
    }
  }

  /// Forgets the user's password. A password that is just being sealed is not kept either.
  ///
  /// - Returns: whether a password was kept.
  @discardableResult
  public func forget(_ uid: UInt32) throws(FileError) -> Bool { try !forget { Self.uid($0) == uid }.isEmpty }

  /// Forgets the passwords of all users. Passwords that are just being sealed are not kept either.
  ///
  /// - Returns: the users whose password was kept.
  public func forgetAll() throws(FileError) -> [UInt32] { try forget { _ in true } }

  /// - Returns: the users whose files were removed.
  private func forget(_ goes: (String) -> Bool) throws(FileError) -> [UInt32] {
    // Sealing makes the folder first: without it there is nothing to forget.
    guard !isUnused else { return [] }
    return try alone { () throws(FileError) -> [UInt32] in
      let path = try folder()
      // This includes files that a killed writer has left.
      let names = try FolderListing.names(in: path).filter { !$0.hasPrefix(".") && goes($0) }
      for name in names { try remove(path + "/" + name) }
      // This comes last: on a full disk the removed files make room for it.
      try AtomicFile.write([], to: path + "/" + Self.forgetting, mode: 0o600)
      return Set(names.compactMap(Self.uid)).sorted()
    }
  }

  /// Runs `act` while no other process writes or forgets. All these processes are root's.
  private func alone<Result>(_ act: () throws(FileError) -> Result) throws(FileError) -> Result {
    let path = try folder()
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(.system(errno), path: path) }
    defer { close(descriptor) }
    try FileLock.take(descriptor, path: path)
    return try act()
  }

  private func remove(_ path: String) throws(FileError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError(.system(errno), path: path) }
  }

  /// Whether nothing was ever sealed or forgotten here.
  private var isUnused: Bool { access(state.path + "/" + Self.place, F_OK) != 0 && errno == ENOENT }

  private func folder() throws(FileError) -> String { try state.folder(Self.place) }

  private static func name(_ uid: UInt32, _ key: Key) -> String { "\(uid).\(key.rawValue)" }

  /// Nil if the file does not belong to a user.
  private static func uid(_ name: String) -> UInt32? { name.split(separator: ".").first.flatMap { UInt32($0) } }
}
