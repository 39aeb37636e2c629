import CommandSupport
import HostState
import IAMPASSProtocol

/// The journal's lines about sign-ins, from the module, the broker and the helper.
struct AuditJournal {
  private static let journalctl = "/usr/bin/journalctl"
  /// The longest time of one journalctl, in seconds.
  private static let patience: Int64 = 120
  /// The most bytes of one journalctl: some hundred thousand lines.
  private static let greatestOutput = 64 * 1024 * 1024

  /// The sign-ins, oldest first.
  let signIns: [JournalSignIn]
  /// Whether there were more lines than ``greatestOutput``.
  let isCut: Bool

  /// - Parameter start: Unix seconds.
  static func read(since start: Int64) throws(CommandProblem) -> AuditJournal {
    // Modules write with syslog(3), in programs of all kinds. sudo, sshd and cron also write so about other things.
    let module = try look(["--grep=^pam_iampass\\(", "SYSLOG_FACILITY=10"], since: start)
    let units = try look(
      ["_SYSTEMD_UNIT=iampass-helper.service", "+", "_SYSTEMD_UNIT=iampass-broker.service"], since: start)
    return AuditJournal(module.lines + units.lines, isCut: module.isCut || units.isCut)
  }

  init(_ lines: [AuditLine], isCut: Bool) {
    var found = lines.compactMap(JournalSignIn.init).sorted { $0.at < $1.at }
    var places: [String: Int] = [:]
    for (place, one) in found.enumerated() { if let session = one.session { places[session] = place } }
    for line in lines.sorted(by: { $0.at < $1.at }) {
      guard let end = JournalEnd(line), let place = places[end.session] else { continue }
      found[place].took(end)
    }
    signIns = found
    self.isCut = isCut
  }

  private static func look(
    _ matches: [String], since start: Int64
  ) throws(CommandProblem) -> (lines: [AuditLine], isCut: Bool) {
    let words = [
      journalctl, "--output=json", "--output-fields=MESSAGE,_UID,_SYSTEMD_UNIT", "--quiet", "--no-pager",
      "--since=@\(start)",
    ]
    let name = "journalctl"
    guard let result = Program.run(words + matches, seconds: patience, greatestOutput: greatestOutput) else {
      throw .programFailed(name, Program.exists(journalctl) ? "" : "\(journalctl) is missing")
    }
    let lines = result.output.utf8.split(separator: UInt8(ascii: "\n"))
    let entries = lines.compactMap { AuditLine(journal: Array($0)) }
    // With --grep, journalctl fails if nothing matches; it then has no output.
    guard result.status == 0 || result.output.isEmpty || !entries.isEmpty else {
      throw .programFailed(name, result.output)
    }
    return (entries, result.output.utf8.count >= greatestOutput)
  }
}

/// One line of the journal.
struct AuditLine {
  /// Unix time in milliseconds.
  let at: Int64
  let text: String
  /// The writer's uid from the kernel; nil if the journal does not have it.
  let uid: Int64?
  let unit: String?

  init(at: Int64, text: String, uid: Int64? = 0, unit: String? = nil) {
    self.at = at
    self.text = text
    self.uid = uid
    self.unit = unit
  }

  /// Nil if the bytes are not an entry.
  init?(journal bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes),
      let microseconds = json["__REALTIME_TIMESTAMP"]?.string.flatMap({ Int64($0) }),
      let text = json["MESSAGE"]?.string
    else { return nil }
    at = microseconds / 1_000
    self.text = text
    uid = json["_UID"]?.string.flatMap { Int64($0) }
    unit = json["_SYSTEMD_UNIT"]?.string
  }

  /// The value of `name=`, up to the next space; nil for `-`.
  func field(_ name: String) -> String? {
    // The text after `reason=` may come from others.
    let head = text.prefix(upTo: text.utf8Range(of: " reason=") ?? text.endIndex)
    for word in head.split(separator: " ") where word.hasPrefix(name + "=") {
      let value = word.dropFirst(name.utf8.count + 1)
      return value == "-" || value == "none" ? nil : String(value)
    }
    return nil
  }

  /// The text after `reason=`, to the line's end.
  var reason: String? {
    text.utf8Range(of: " reason=").map { String(text[text.utf8.index($0, offsetBy: " reason=".utf8.count)...]) }
  }
}

/// A sign-in, as this computer has logged it.
struct JournalSignIn: Equatable {
  /// Unix time in milliseconds.
  let at: Int64
  let isApproved: Bool
  let user: String?
  let service: String?
  let remoteHost: String?
  let session: String?
  let phone: String?
  let method: String?
  /// Why the sign-in was refused.
  let reason: String?
  /// What approved the sign-in, such as a recovery code; nil for a phone.
  let by: String?
  /// The writer's uid; nil for root, -1 if it is not known. A user with this uid can write any line.
  let writer: Int64?
  /// When and why its session ended here.
  private(set) var ended: JournalEnd?

  /// Nil for a line that is not about a sign-in.
  init?(_ line: AuditLine) {
    var rest = line.text[...]
    let isBrokers = line.unit == "iampass-broker.service" && line.uid == 0
    if !isBrokers {
      guard rest.hasPrefix("pam_iampass("), let end = rest.utf8Range(of: ":auth): ") else { return nil }
      rest = rest[rest.utf8.index(end, offsetBy: ":auth): ".utf8.count)...]
    }
    if rest.hasPrefix("approved user=") {
      isApproved = true
    } else if rest.hasPrefix("refused user=") {
      isApproved = false
    } else {
      return nil
    }
    by = line.field("by")
    // The broker's own line says the same, and root has written it.
    guard by != "broker" else { return nil }
    at = line.at
    user = line.field("user")
    service = line.field("service")
    remoteHost = line.field("rhost")
    session = line.field("session")
    phone = line.field("phone")
    method = line.field("method")
    reason = line.reason
    writer = line.uid == 0 ? nil : line.uid ?? -1
  }

  mutating func took(_ end: JournalEnd) {
    // A logout's line has the reason. Later lines only say that the record is over.
    if ended?.isLogout != true { ended = end }
  }
}

/// The end of a session, as the helper has logged it.
struct JournalEnd: Equatable {
  let session: String
  let at: Int64
  let why: String
  let isLogout: Bool

  init?(_ line: AuditLine) {
    guard line.unit == "iampass-helper.service", line.uid == 0, let named = line.field("session") else { return nil }
    // If the line continues, there is a colon after the name.
    session = named.hasSuffix(":") ? String(named.dropLast()) : named
    at = line.at
    if line.text.hasPrefix("logged out user=") || line.text.hasPrefix("killed user=") {
      why = line.field("cause") ?? "logged out"
      isLogout = true
    } else if line.text.hasPrefix("over user="), let colon = line.text.utf8Range(of: "session=\(session): ") {
      why = String(line.text[line.text.utf8.index(colon, offsetBy: "session=\(session): ".utf8.count)...])
      isLogout = false
    } else {
      return nil
    }
  }
}

extension StringProtocol {
  /// The first position of `text`, by bytes.
  fileprivate func utf8Range(of text: String) -> Index? {
    let needle = Array(text.utf8)
    let own = Array(utf8)
    guard own.count >= needle.count else { return nil }
    for start in 0...(own.count - needle.count) where own[start..<(start + needle.count)].elementsEqual(needle) {
      return utf8.index(startIndex, offsetBy: start)
    }
    return nil
  }
}
