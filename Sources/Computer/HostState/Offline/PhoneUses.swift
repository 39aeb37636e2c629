import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A sign-in that a phone approved without the service, and that is still to be reported to it.
public struct PhoneUse: Sendable, Equatable {
  private static let version: Int64 = 1

  /// 32 hexadecimal digits.
  public let id: String
  public let use: CodeUse
  /// The service's name for the phone.
  public let phone: String

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "phone": .string(phone), "use": try? JSON(parsing: use.encoded()),
    ]).encoded()
  }

  init(id: String, use: CodeUse, phone: String) {
    self.id = id
    self.use = use
    self.phone = phone
  }

  /// Nil for bytes that are not a use of this version.
  init?(id: String, parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let phone = json["phone"]?.string, let use = json["use"].flatMap({ CodeUse(parsing: $0.encoded()) })
    else { return nil }
    self.init(id: id, use: use, phone: phone)
  }
}

/// `/var/lib/iampass/offline/uses`: a file for each sign-in that was not reported to the service yet.
public struct PhoneUses: Sendable {
  /// The most files. The oldest are removed.
  static let greatestCount = 1_000
  /// The greatest size of a file in bytes.
  private static let greatestSize = 4_096

  private let state: RunFolder

  /// - Parameter state: `/var/lib/iampass`.
  public init(state: RunFolder) { self.state = state }

  /// Notes a use. It is on the disk when this returns.
  ///
  /// - Returns: the use's id.
  func note(_ use: CodeUse, by phone: PinnedPhone) throws(FileError) -> String {
    let folder = try self.folder()
    guard let id = Digest.randomIdentifier() else { throw FileError(.system(EIO), path: folder) }
    try BoundedFolder.forgetOldest(in: folder, greatestCount: Self.greatestCount)
    try AtomicFile.write(PhoneUse(id: id, use: use, phone: phone.id).encoded(), to: folder + "/" + id, mode: 0o600)
    try FolderFlush.flush(folder)
    return id
  }

  /// The uses to report, in no order. Unreadable files are left out.
  public func unreported() throws(FileError) -> [PhoneUse] {
    var found = stat()
    guard lstat(state.path + "/offline/uses", &found) == 0 else { return [] }
    let folder = try self.folder()
    return try FolderListing.names(in: folder).filter(FileID.isValid).compactMap { id in
      let bytes = try? SecureFile.read(folder + "/" + id, privacy: .secret, limit: Self.greatestSize)
      return bytes.flatMap { PhoneUse(id: id, parsing: $0) }
    }
  }

  /// Removes a use that the service knows.
  public func forget(_ id: String) throws(FileError) {
    let path = try folder() + "/" + id
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError(.system(errno), path: path) }
  }

  private func folder() throws(FileError) -> String {
    return try state.folder("offline/uses")
  }
}
