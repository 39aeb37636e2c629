import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// What the helper knows of a watched session, kept in `/run/iampass/watch` beside the record: over a restart of the
/// helper, and for `iampassctl session list`. Times are seconds after boot.
public struct WatchNote: Sendable, Equatable {
  /// Notes of another version are not read; new ones replace them.
  private static let version: Int64 = 1
  /// Seconds after boot that can be: no sum of them overflows.
  private static let times: ClosedRange<Int64> = 0...(1 << 40)

  /// How the service is asked.
  public enum Asking: String, Sendable, CaseIterable {
    /// The service says when something changes.
    case held
    case polling
    /// The service is not asked any more.
    case no
  }

  /// The service's last word; nil: it was not yet asked with success.
  public var status: SessionStatus?
  /// Since when the status is what it is.
  public var since: Int64
  /// Since when the phone is away; nil if it is not.
  public var awaySince: Int64?
  /// Since when the service cannot be asked; nil if it can.
  public var unansweredSince: Int64?
  /// What was done about it already: a restart does not lock twice.
  public var handled: String?
  /// Since when it is left alone although the service says that it is over; nil if it is not.
  public var leftAsideSince: Int64?
  /// Where the service stood in its history when it last spoke of the session; nil if it does not tell.
  public var mark: ServiceMark?
  /// The user was told that the time is nearly over.
  public var hasWarned: Bool
  /// The session's host has closed it or has ended, and it is watched for what runs on.
  public var isRunningOn: Bool
  public var asking: Asking
  /// For the administrator; empty if all is well.
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
      // The version before wrote only that it is.
      leftAsideSince: json["left_aside_since"]?.integer ?? (json["handled"]?.string == "left_aside" ? since : nil),
      mark: json["service_mark"].flatMap(ServiceMark.init(json:)), hasWarned: json["warned"]?.bool ?? false,
      isRunningOn: json["running_on"]?.bool ?? false, asking: asking, remark: remark)
  }
}

extension ServiceMark {
  /// As records and notes keep it.
  var json: JSON { .object(["epoch": .integer(epoch), "counter": .integer(counter)]) }

  /// Nil for text that is not a mark.
  init?(json: JSON) {
    guard let epoch = json["epoch"]?.integer, let counter = json["counter"]?.integer, epoch >= 0, counter >= 0 else {
      return nil
    }
    self.init(epoch: epoch, counter: counter)
  }
}

/// `/run/iampass/watch`: a note a watched session, by its record's id. The helper writes, others read.
public struct WatchNotes: Sendable {
  private let files: RecordFiles

  public init(run: RunFolder) { files = RecordFiles(run: run, name: "watch") }

  /// Nil if no note counts.
  public func read(_ id: String) throws(LedgerError) -> WatchNote? {
    try files.read(id).flatMap(WatchNote.init(parsing:))
  }

  /// Names of all files that may be notes, in no order.
  public func ids() throws(LedgerError) -> [String] { try files.ids() }

  public func write(_ note: WatchNote, for id: String) throws(LedgerError) {
    try files.write(note.encoded(), for: id)
  }

  /// A missing file is not an error.
  public func remove(_ id: String) throws(LedgerError) { try files.remove(id) }
}
