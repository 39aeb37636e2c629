import HostSystem
import IAMPASSProtocol

/// Valid times in a file: seconds since 1970, until the year 9999.
private let times: ClosedRange<Int64> = 0...253_402_300_799

/// The kept data of one user's recovery codes on one computer.
public struct RecoverySet: Sendable, Equatable {
  /// How many codes are made at once.
  public static let codeCount = 10
  /// Sets of another version are refused.
  private static let version: Int64 = 1

  /// 128 random bits in hexadecimal.
  public let id: String
  public let user: UnixUsername
  public let uid: UInt32
  /// Seconds since 1970.
  public let created: Int64
  /// See ``ComputerName``.
  let computer: String
  let setting: String
  /// The hashes with their settings. A code's number is its place, from 1.
  let hashes: [String]

  init(
    id: String, user: UnixUsername, uid: UInt32, created: Int64, computer: String, setting: String, hashes: [String]
  ) {
    self.id = id
    self.user = user
    self.uid = uid
    self.created = created
    self.computer = computer
    self.setting = setting
    self.hashes = hashes
  }

  /// The number of the code that has this hash. All are compared, so that the time does not reveal the number.
  func number(of hash: String) -> Int? {
    let bytes = Array(hash.utf8)
    var found: Int?
    for (place, known) in hashes.enumerated() where Digest.areEqual(Array(known.utf8), bytes) { found = place + 1 }
    return found
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "id": .string(id), "user": .string(user.text), "uid": .integer(Int64(uid)),
      "created": .integer(created), "computer": .string(computer), "setting": .string(setting),
      "hashes": .array(hashes.map { .string($0) }),
    ]).encoded()
  }

  /// Nil for bytes that are not a whole set of this version, with hashes of the one scheme.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version, let id = json["id"]?.string,
      FileID.isValid(id), let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }),
      let uid = json["uid"]?.integer.flatMap({ UInt32(exactly: $0) }), let created = json["created"]?.integer,
      times.contains(created),
      let computer = json["computer"]?.string, let setting = json["setting"]?.string,
      setting.hasPrefix(RecoveryHash.beginning), let listed = json["hashes"]?.array,
      case let hashes = listed.compactMap(\.string), hashes.count == listed.count, hashes.count == Self.codeCount,
      hashes.allSatisfy({ $0.hasPrefix(setting) && $0.utf8.count > setting.utf8.count })
    else { return nil }
    self.init(
      id: id, user: user, uid: uid, created: created, computer: computer, setting: setting, hashes: hashes)
  }
}

/// The use of a recovery code: the PAM service and the remote host. It has no secret.
public struct CodeUse: Sendable, Equatable {
  private static let version: Int64 = 1
  /// The greatest length of a text in characters. Longer texts of a caller are cut.
  private static let greatestLength = 200

  public let user: UnixUsername
  public let service: String
  public let tty: String?
  public let remoteHost: String?
  /// Seconds since 1970, by this computer's clock.
  public let time: Int64
  /// The number of the set's codes that are left after this use; nil in a file of an older version.
  public internal(set) var left: Int?

  public init(user: UnixUsername, service: String, tty: String?, remoteHost: String?, time: Int64) {
    func cut(_ text: String) -> String { DisplayText.sanitized(text, limit: Self.greatestLength) }
    self.user = user
    self.service = cut(service)
    self.tty = tty.map(cut)
    self.remoteHost = remoteHost.map(cut)
    self.time = time
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "user": .string(user.text), "service": .string(service),
      "tty": tty.map { .string($0) }, "remote_host": remoteHost.map { .string($0) }, "time": .integer(time),
      "left": left.map { .integer(Int64($0)) },
    ]).encoded()
  }

  /// Nil for bytes that are not a use of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }), let service = json["service"]?.string,
      let time = json["time"]?.integer, times.contains(time)
    else { return nil }
    self.init(
      user: user, service: service, tty: json["tty"]?.string, remoteHost: json["remote_host"]?.string, time: time)
    let left = json["left"]?.integer.flatMap { Int(exactly: $0) }
    self.left = left.flatMap { (0..<RecoverySet.codeCount).contains($0) ? $0 : nil }
  }
}

/// A use that was not reported to the service yet.
public struct UnreportedUse: Sendable, Equatable {
  /// The set's id and the code's number in it.
  public let id: String
  public let use: CodeUse
  /// The file's name without its ending.
  let name: String
}
