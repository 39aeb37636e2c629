import IAMPASSProtocol

// The filters of the console's lists. An empty text matches everything. Upper and lower case are equal.

/// Which entries of the audit are shown.
struct AuditFilter: Sendable {
  enum Result: String, Sendable, CaseIterable {
    case approved, denied
    case unanswered = "not answered"
    /// What administrators changed.
    case changes
  }

  /// The most entries that one search reads, so that a table of years is not read for one page.
  static let greatestReach: Int64 = 10_000
  /// Milliseconds by which the dates of entries may differ from the order in which they were noted: the wall clock may
  /// have been set meanwhile.
  static let slack = UnixTime.millisecondsOfDay

  /// A part of a Unix user's, a phone's or an administrator's name, or of the user's name for people. Or the beginning
  /// of an actor, such as `cli:0`.
  var user = ""
  /// A part of a computer's or a credential's name.
  var computer = ""
  /// The wanted result; nil: all.
  var result: Result?
  /// The first day; nil: from the beginning. The days are UTC's.
  var from: UnixTime?
  /// The beginning of the day after the last one; nil: until now.
  var until: UnixTime?
  var reach = Self.greatestReach

  /// Whether it asks for refusals, whoever's and wherever. They are few among all entries, and no search is needed.
  var isForAllRefusals: Bool { result == .denied && user.isEmpty && computer.isEmpty }
}

/// A page of the audit.
struct AuditPage: Sendable {
  /// The entries, newest first.
  let entries: [AuditEntry]
  /// The search continues before this entry; nil if there are no older entries.
  let further: Int64?
}

/// Which live sessions are shown.
struct SessionFilter: Sendable {
  /// The most sessions that one search reads. Each one's user and computer are in its details.
  static let greatestReach = 5_000

  var user = ""
  var computer = ""
  var from: UnixTime?
  var until: UnixTime?
  /// The page begins with this session; nil or unknown: with the newest.
  var start: String?
  /// The most sessions of a page.
  var length = SessionSummary.greatestCount
  var reach = Self.greatestReach

  /// Whether sessions are left out by their details.
  var isSearch: Bool { !user.isEmpty || !computer.isEmpty }
}

/// A page of the live sessions.
struct SessionPage: Sendable {
  /// The newest first.
  let sessions: [SessionSummary]
  /// The list or the search continues with this session; nil if there are no older ones.
  let further: String?
}

/// Which computers are shown.
struct ComputerSearch: Sendable {
  static let pageLength = 50
  /// The most computers that one search by text looks at, so that its page costs the same in any company.
  static let greatestReach = 5_000

  /// A part of a name, a host or a group.
  var text = ""
  /// The page begins after this name and id.
  var after: (name: String, id: String)?
  /// Only computers that last sent a request before this time, or never, by the days of that; nil: all, by their names.
  var silentSince: UnixTime?
  /// Only computers that were copied, or whose disk was restored.
  var isCopied = false
  var reach = Self.greatestReach
}

/// A page of the computers.
struct ComputerPage: Sendable {
  let computers: [ComputerSummary]
  /// The list or the search continues after this name and id; nil if there are no more.
  let further: (name: String, id: String)?
}

/// A computer with a credential, as the console lists it.
struct ComputerSummary: Sendable {
  let credential: KnownCredential
  /// The application's name.
  let application: String
  let liveSessions: Int64
  /// The number of requests that were held back since yesterday.
  let heldBack: Int64
  /// The computer's report about itself; nil if there is none, as for a computer with its own users file.
  let report: HostReport?
  /// The version of the application's list of users; 0 if it has none.
  let listVersion: Int64
  let copy: Copy?

  /// The computer's credential was used with two marks, and that is not settled yet.
  struct Copy: Sendable, Equatable {
    let address: String?
    let otherAddress: String?
    let firstAt: UnixTime
    let areBothUsed: Bool
  }
}

/// The number of sign-ins of one day with this result.
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
