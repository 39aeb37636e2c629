import HostSystem

/// What logind says of one session (org.freedesktop.login1(5), Session objects).
public struct LogindSession: Sendable, Equatable {
  public let id: String
  public let leader: Int32
  public let uid: UInt32
  /// `user`, `greeter`, `manager`, …
  public let sessionClass: String
  /// `tty`, `x11`, `wayland`, `unspecified`, …
  public let type: String
  public let isRemote: Bool
  /// Empty if it has none.
  public let seat: String
  /// Unit of its processes, `session-3.scope`.
  public let scope: String
  /// Signed out already; only processes are left of it.
  public let isClosing: Bool
  /// On the screen of its seat just now; always so without a seat.
  public let isActive: Bool

  public init(
    id: String, leader: Int32, uid: UInt32, sessionClass: String, type: String, isRemote: Bool, seat: String,
    scope: String, isClosing: Bool = false, isActive: Bool = false
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
  }

  /// Only these have a screen to lock; for others LockSession returns success and nothing happens.
  public var canLock: Bool { !isRemote && ["x11", "wayland", "mir"].contains(type) }

  /// Someone sits in front of the screen: a person who pulls the network cable must not stay signed in.
  public var isGraphicalAtSeat: Bool { canLock && !seat.isEmpty }

  /// Somebody's sign-in at a seat of this computer.
  public var isAtSeat: Bool { isSignIn && !isRemote && !isClosing && !seat.isEmpty }

  /// Somebody's sign-in. systemd 256 split the class `user`: `user-early`, `user-light`, `user-incomplete`.
  public var isSignIn: Bool { sessionClass == "user" || sessionClass.hasPrefix("user-") }
}

extension LogindSession {
  private static let greatestSize = 16_384

  /// Whether this can name a session. Empty, `self` and `auto` are logind's words for the caller's own session and for
  /// the one on the caller's screen: asked to end one of these, logind would end another session than was meant.
  public static func isID(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isIDCharacter) && text != "self" && text != "auto"
  }

  /// What logind wrote down of a session, which it does before it answers who opened it (the files behind
  /// sd_session_get_uid(3) and its like; libsystemd is not loaded into sshd, and has the leader from version 254 on).
  ///
  /// Nil if the file is missing or cannot be understood. The session may still exist.
  public init?(id: String, folder: String = "/run/systemd/sessions") {
    guard Self.isID(id), let bytes = ProcessFile.read("\(folder)/\(id)", limit: Self.greatestSize) else { return nil }
    self.init(id: id, parsing: bytes)
  }

  /// Every session that logind wrote down in this folder and that can be understood.
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
      isClosing: values["STATE"] == "closing", isActive: values["ACTIVE"] == "1")
  }

  /// Nil if a key stands twice: a line break within somebody's words would write a second `LEADER=`.
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
