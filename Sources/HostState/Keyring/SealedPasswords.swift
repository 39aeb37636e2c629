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

  /// Replaces what was kept of the user.
  public func write(_ sealed: [UInt8], of uid: UInt32, _ key: Key) throws(FileError) {
    try AtomicFile.write(sealed, to: folder() + "/" + Self.name(uid, key), mode: 0o600)
    for other in Key.allCases where other != key { try remove(uid, other) }
  }

  /// Nothing if none is kept.
  public func forget(_ uid: UInt32) throws(FileError) { for key in Key.allCases { try remove(uid, key) } }

  private func remove(_ uid: UInt32, _ key: Key) throws(FileError) {
    let path = try folder() + "/" + Self.name(uid, key)
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError(.system(errno), path: path) }
  }

  private func folder() throws(FileError) -> String { try state.folder("keyring") }

  private static func name(_ uid: UInt32, _ key: Key) -> String { "\(uid).\(key.rawValue)" }
}
