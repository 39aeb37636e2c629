import HostSystem

/// What logind says of one session (org.freedesktop.login1(5), Session objects).
public struct LogindSession: Sendable, Equatable {
  public let id: String
  public let leader: Int32
  public let uid: UInt32
  /// The session's class, such as `user`, `greeter` or `manager`.
  public let sessionClass: String
  /// The session's type, such as `tty`, `x11`, `wayland` or `unspecified`.
  public let type: String
  public let isRemote: Bool
  /// The session's seat; empty if it has none.
  public let seat: String
  /// The unit of its processes, such as `session-3.scope`.
  public let scope: String
  /// The session is logged out, and only processes of it are left.
  public let isClosing: Bool
  /// Whether the session is in front at its seat now; always true without a seat.
  public let isActive: Bool
  /// The PAM service that opened the session, such as `sddm`; empty if logind does not name one.
  public let service: String

  public init(
    id: String, leader: Int32, uid: UInt32, sessionClass: String, type: String, isRemote: Bool, seat: String,
    scope: String, isClosing: Bool = false, isActive: Bool = false, service: String = ""
  ) {
    self.id = id
    self.leader = leader
    self.uid = uid
    self.sessionClass = sessionClass
    self.type = type
    self.isRemote = isRemote
    self.seat = seat
    self.scope = scope
    self.isClosing = isClosing
    self.isActive = isActive
    self.service = service
  }

  /// Whether the session has a screen to lock. For other sessions LockSession returns success, but has no effect.
  public var canLock: Bool { !isRemote && ["x11", "wayland", "mir"].contains(type) }

  /// Whether a person sits in front of the screen. A person who pulls out the network cable must not stay signed in.
  public var isGraphicalAtSeat: Bool { canLock && !seat.isEmpty }

  /// Whether a person signed in to the session at a seat of this computer.
  public var isAtSeat: Bool { isSignIn && !isRemote && !isClosing && !seat.isEmpty }

  /// Whether a person signed in to the session. systemd 256 split the class `user`: `user-early`, `user-light`,
  /// `user-incomplete`.
  public var isSignIn: Bool { sessionClass == "user" || sessionClass.hasPrefix("user-") }
}

extension LogindSession {
  private static let greatestSize = 16_384

  /// Whether this can name a session. An empty name, `self` and `auto` mean the caller's own session or the one on its
  /// screen. With such a name logind would end the wrong session.
  public static func isID(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isIDCharacter) && text != "self" && text != "auto"
  }

  /// Reads logind's file of a session, the one behind sd_session_get_uid(3). logind writes it before it answers the
  /// program that opened the session. libsystemd is not used: it is not loaded into sshd, and gives the leader only
  /// from version 254 on.
  ///
  /// Nil if the file is missing or cannot be understood. The session may still exist.
  public init?(id: String, folder: String = "/run/systemd/sessions") {
    guard Self.isID(id), let bytes = ProcessFile.read("\(folder)/\(id)", limit: Self.greatestSize) else { return nil }
    self.init(id: id, parsing: bytes)
  }

  /// All sessions in logind's files in this folder; unreadable files are skipped.
  public static func all(in folder: String = "/run/systemd/sessions") -> [LogindSession] {
    let names = (try? FolderListing.names(in: folder)) ?? []
    return names.compactMap { LogindSession(id: $0, folder: folder) }
  }

  init?(id: String, parsing bytes: [UInt8]) {
    guard bytes.count < Self.greatestSize, let values = Self.values(bytes),
      let leader = values["LEADER"].flatMap({ Int32($0) }), leader > 0,
      let uid = values["UID"].flatMap({ UInt32($0) })
    else { return nil }
    self.init(
      id: id, leader: leader, uid: uid, sessionClass: values["CLASS"] ?? "", type: values["TYPE"] ?? "",
      isRemote: values["REMOTE"] == "1", seat: values["SEAT"] ?? "", scope: values["SCOPE"] ?? "",
      isClosing: values["STATE"] == "closing", isActive: values["ACTIVE"] == "1",
      service: values["SERVICE"] ?? "")
  }

  /// Nil if a key is there twice: a line break in a user's text would write a second `LEADER=`.
  private static func values(_ bytes: [UInt8]) -> [String: String]? {
    var values: [String: String] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let key = String(decoding: line[..<equals], as: UTF8.self)
      let value = String(decoding: line[(equals + 1)...], as: UTF8.self)
      guard values.updateValue(value, forKey: key) == nil else { return nil }
    }
    return values
  }

  private static func isIDCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}
