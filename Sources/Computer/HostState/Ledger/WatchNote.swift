import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// What the helper knows of a watched session, kept in `/run/iampass/watch`. The next helper and `iampassctl session
/// list` read it. Times are seconds after boot.
public struct WatchNote: Sendable, Equatable {
  /// Notes of another version are not read; new ones replace them.
  private static let version: Int64 = 1
  /// Valid seconds after boot. Sums of them do not overflow.
  private static let times: ClosedRange<Int64> = 0...(1 << 40)

  /// How the service is asked.
  public enum Asking: String, Sendable, CaseIterable {
    /// The service holds the question until something changes.
    case held
    case polling
    /// The service is not asked any more.
    case no
  }

  /// The service's last status; nil if it has not given one yet.
  public var status: SessionStatus?
  /// Since when the session has this status.
  public var since: Int64
  /// Since when the phone is away; nil if it is not.
  public var awaySince: Int64?
  /// Since when the service does not answer; nil if it does.
  public var unansweredSince: Int64?
  /// The cause that was acted on, so that a restart does not lock twice.
  public var handled: String?
  /// Since when the session is left alone although the service says that it is over; nil if it is not.
  public var leftAsideSince: Int64?
  /// The service's position in its history at its last answer about the session; nil if it does not give one.
  public var mark: ServiceMark?
  /// Whether the user was warned that the time is nearly over.
  public var hasWarned: Bool
  /// The session's host has closed it or has ended, and it is watched for the processes that run on.
  public var isRunningOn: Bool
  public var asking: Asking
  /// A remark for the administrator; empty if there is no problem.
  public var remark: String

  public init(
    status: SessionStatus?, since: Int64, awaySince: Int64? = nil, unansweredSince: Int64? = nil,
    handled: String? = nil, leftAsideSince: Int64? = nil, mark: ServiceMark? = nil, hasWarned: Bool = false,
    isRunningOn: Bool = false, asking: Asking = .polling, remark: String = ""
  ) {
    self.status = status
    self.since = since
    self.awaySince = awaySince
    self.unansweredSince = unansweredSince
    self.handled = handled
    self.leftAsideSince = leftAsideSince
    self.mark = mark
    self.hasWarned = hasWarned
    self.isRunningOn = isRunningOn
    self.asking = asking
    self.remark = remark
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "status": status.map { .string(String($0.word.prefix(64))) },
      "since": .integer(since),
      "away_since": awaySince.map { .integer($0) }, "unanswered_since": unansweredSince.map { .integer($0) },
      "handled": handled.map { .string($0) }, "left_aside_since": leftAsideSince.map { .integer($0) },
      "service_mark": mark.map(\.json), "warned": .bool(hasWarned),
      "running_on": isRunningOn ? .bool(true) : nil, "asking": .string(asking.rawValue),
      "remark": .string(remark),
    ]).encoded()
  }

  /// Nil for bytes that are not a note of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let since = json["since"]?.integer, Self.times.contains(since),
      let asking = json["asking"]?.string.flatMap(Asking.init(rawValue:)),
      let remark = json["remark"]?.string,
      ["away_since", "unanswered_since", "left_aside_since"].allSatisfy({ Self.times.contains(json[$0]?.integer ?? 0) })
    else { return nil }
    self.init(
      status: json["status"]?.string.map(SessionStatus.init(word:)), since: since,
      awaySince: json["away_since"]?.integer, unansweredSince: json["unanswered_since"]?.integer,
      handled: json["handled"]?.string,
      // The previous version wrote only that the session is left alone, without a time.
      leftAsideSince: json["left_aside_since"]?.integer ?? (json["handled"]?.string == "left_aside" ? since : nil),
      mark: json["service_mark"].flatMap(ServiceMark.init(json:)), hasWarned: json["warned"]?.bool ?? false,
      isRunningOn: json["running_on"]?.bool ?? false, asking: asking, remark: remark)
  }
}

extension ServiceMark {
  /// The form in records and notes.
  var json: JSON { .object(["epoch": .integer(epoch), "counter": .integer(counter)]) }

  /// Nil for text that is not a mark.
  init?(json: JSON) {
    guard let epoch = json["epoch"]?.integer, let counter = json["counter"]?.integer, epoch >= 0, counter >= 0 else {
      return nil
    }
    self.init(epoch: epoch, counter: counter)
  }
}

/// `/run/iampass/watch`: one note for each watched session, by its record's id. The helper writes notes, and others
/// read them.
public struct WatchNotes: Sendable {
  private let files: RecordFiles

  public init(run: RunFolder) { files = RecordFiles(run: run, name: "watch") }

  /// Nil if there is no valid note.
  public func read(_ id: String) throws(LedgerError) -> WatchNote? {
    try files.read(id).flatMap(WatchNote.init(parsing:))
  }

  /// Names of all files that may be notes, in no order.
  public func ids() throws(LedgerError) -> [String] { try files.ids() }

  public func write(_ note: WatchNote, for id: String) throws(LedgerError) {
    try files.write(note.encoded(), for: id)
  }

  /// Removes a note. It is not an error if the note is missing.
  public func remove(_ id: String) throws(LedgerError) { try files.remove(id) }
}
