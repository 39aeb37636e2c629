import IAMPASSProtocol

// What the console's lists are searched for. An empty text matches everything; capitals do not count.

/// Which entries of the audit are shown.
struct AuditFilter: Sendable {
  enum Result: String, Sendable, CaseIterable {
    case approved, denied
    case unanswered = "not answered"
    /// What administrators changed.
    case changes
  }

  /// The number of entries that one search looks through, at most: a table of years is not read for one page.
  static let greatestReach: Int64 = 50_000
  /// Milliseconds by which the dates of entries may differ from the order in which they were noted: the wall clock may
  /// have been set meanwhile.
  static let slack = UnixTime.millisecondsOfDay

  /// Part of a Unix user's, a phone's or an administrator's name, or of what people call the user; or the beginning of who
  /// did it, as `cli:0`.
  var user = ""
  /// Part of a host's or a credential's name.
  var computer = ""
  /// Nil: all.
  var result: Result?
  /// The first day; nil: from the beginning. The days are UTC's.
  var from: UnixTime?
  /// The beginning of the day after the last one; nil: until now.
  var until: UnixTime?
  var reach = Self.greatestReach
}

/// A page of the audit.
struct AuditPage: Sendable {
  /// The newest first.
  let entries: [AuditEntry]
  /// The search goes on before this entry; nil if there is nothing older to look through.
  let further: Int64?
}

/// Which live sessions are shown.
struct SessionFilter: Sendable {
  var user = ""
  var computer = ""
  var from: UnixTime?
  var until: UnixTime?
}

/// Which computers are shown.
struct ComputerSearch: Sendable {
  static let pageLength = 50

  /// Part of a name, a host or a group.
  var text = ""
  /// The page begins after this name and id.
  var after: (name: String, id: String)?
  /// Only those that were last heard of before this time, or never.
  var silentSince: UnixTime?
  /// Only those that were copied, or whose disk was put back.
  var isCopied = false
}

/// A computer with a credential, as the console lists it.
struct ComputerSummary: Sendable {
  let credential: HostCredential
  /// The application's name.
  let application: String
  let liveSessions: Int64
  /// Requests that were held back since yesterday.
  let heldBack: Int64
  /// What the computer says of itself; nil: nothing yet, as one whose users are in a file of its own.
  let report: HostReport?
  /// The version of the application's list of users; 0: it has none.
  let listVersion: Int64
  let copy: Copy?

  /// Its credential was used with two marks, and nobody has settled that.
  struct Copy: Sendable, Equatable {
    let address: String?
    let otherAddress: String?
    let firstAt: UnixTime
    let areBothUsed: Bool
  }
}

/// How many sign-ins of one day ended so.
struct SignInCount: Sendable, Equatable {
  /// Days since 1970, in UTC.
  let day: Int64
  let result: AuditFilter.Result
  let count: Int64
}

extension UnixTime {
  static let millisecondsOfDay: Int64 = 86_400_000

  /// The beginning of the day, in UTC.
  var day: Int64 { milliseconds / Self.millisecondsOfDay }

  init(day: Int64) { self.init(milliseconds: day * Self.millisecondsOfDay) }
}
