import CommandSupport
import Glibc
import HostState
import IAMPASSProtocol

/// One sign-in, as the journal has it, as the service has it, or both.
struct AuditRow {
  private enum AtService {
    /// The service was not asked.
    case notAsked
    /// The service has no entry of this session.
    case unknown
    case known(ServiceSignIn)
  }

  /// Unix time in milliseconds.
  let at: Int64
  private let journal: JournalSignIn?
  private let service: AtService

  var user: String? { journal?.user ?? signIn?.detail("account") }

  private var signIn: ServiceSignIn? { if case .known(let signIn) = service { signIn } else { nil } }

  /// Joins the sign-ins of journal and service, oldest first.
  ///
  /// - Parameter signIns: the service's sign-ins; nil if it was not asked or did not answer.
  static func joined(_ journal: [JournalSignIn], _ signIns: [ServiceSignIn]?) -> [AuditRow] {
    var left = Dictionary((signIns ?? []).map { ($0.session, $0) }) { first, _ in first }
    var rows = journal.map { one in
      guard signIns != nil else { return AuditRow(at: one.at, journal: one, service: .notAsked) }
      guard let session = one.session else { return AuditRow(at: one.at, journal: one, service: .unknown) }
      let known = left[session].map { AtService.known($0) } ?? .unknown
      left[session] = nil
      return AuditRow(at: one.at, journal: one, service: known)
    }
    // The journal cannot have sign-ins that were not answered yet.
    rows += left.values.compactMap { one in
      one.answer.map { AuditRow(at: $0.at, journal: nil, service: .known(one)) }
    }
    return rows.sorted { ($0.at, $0.session ?? "") < ($1.at, $1.session ?? "") }
  }

  private var session: String? { journal?.session ?? signIn?.session }

  static func show(_ rows: [AuditRow]) {
    let head = ["TIME", "USER", "SERVICE", "FROM", "RESULT", "PHONE", "SESSION", "ENDED", "AT THE SERVICE"]
    TextTable(head: head, rows: rows.map(\.columns)).show(whenEmpty: "no sign-ins")
  }

  private var columns: [String] {
    [
      ClockTime.date(at / 1_000), user ?? "", journal?.service ?? signIn?.detail("service") ?? "",
      journal?.remoteHost ?? signIn?.detail("remote_host") ?? "", result,
      signIn?.detail("phone") ?? String((journal?.phone ?? "").prefix(8)), String((session ?? "").prefix(8)),
      journal?.ended?.why ?? "", atService,
    ]
  }

  private var result: String {
    guard let journal else { return "not in the journal" }
    // sudo writes under its caller's uid. If the service has the sign-in too, the writer does not matter.
    let isConfirmed = journal.isApproved && signIn?.answer?.event == "approved"
    let writer = isConfirmed ? nil : journal.writer
    let who = writer.map { $0 < 0 ? " (by an unknown program)" : " (says a program of uid \($0))" } ?? ""
    guard journal.isApproved else { return "refused: \(journal.reason ?? "no reason")" + who }
    return "approved" + (journal.by.map { " by \($0)" } ?? "") + who
  }

  private var atService: String {
    switch service {
    case .notAsked: return ""
    case .unknown: return session == nil ? "" : "not known"
    case .known(let signIn):
      guard let answer = signIn.answer else { return "asked" }
      func words(_ entry: HostAuditReply.Entry) -> String {
        entry.event + (entry.details["reason"].map { " \($0)" } ?? "")
      }
      return words(answer) + (signIn.end.map { ", \(words($0))" } ?? "")
    }
  }

  var json: JSON {
    .object([
      "at": .integer(at), "user": user.map { .string($0) }, "session": session.map { .string($0) },
      "journal": journal?.json ?? .null, "service": serviceJSON,
    ])
  }

  /// The service's part; null if it was not asked.
  private var serviceJSON: JSON {
    switch service {
    case .notAsked: .null
    case .unknown: .object(["known": .bool(false)])
    case .known(let signIn):
      .object(["known": .bool(true), "entries": .array(signIn.entries.reversed().map(\.json))])
    }
  }
}

extension JournalSignIn {
  fileprivate var json: JSON {
    .object([
      "result": .string(isApproved ? "approved" : "refused"), "service": service.map { .string($0) },
      "remote_host": remoteHost.map { .string($0) }, "phone": phone.map { .string($0) },
      "method": method.map { .string($0) }, "by": by.map { .string($0) }, "reason": reason.map { .string($0) },
      "written_by_uid": writer.map { .integer($0) },
      "ended": ended.map { .object(["at": .integer($0.at), "why": .string($0.why)]) },
    ])
  }
}
