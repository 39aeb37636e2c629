import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A sign-in of this computer, as the service has noted it.
struct ServiceSignIn: Equatable {
  let session: String
  /// The entries, newest first.
  var entries: [HostAuditReply.Entry]

  /// The phone's answer, or an end without an answer.
  var answer: HostAuditReply.Entry? {
    entries.last { $0.event == "approved" } ?? entries.last { $0.event == "denied" || $0.event == "ended" }
  }

  /// The end of a session that was approved.
  var end: HostAuditReply.Entry? {
    answer?.event == "approved" ? entries.first { $0.event == "ended" || $0.event == "denied" } : nil
  }

  func detail(_ name: String) -> String? { entries.lazy.compactMap { $0.details[name] }.first }
}

/// The service's entries about this computer's sign-ins.
struct ServiceAudit {
  /// The most pages. A page has some hundred entries.
  private static let greatestPageCount = 200

  private let host: ConfiguredHost

  init(path: String) throws(CommandProblem) { host = try ConfiguredHost(path: path, credentials: nil) }

  /// - Parameter start: Unix seconds.
  func signIns(since start: Int64) throws(CommandProblem) -> [ServiceSignIn] {
    var found: [String: ServiceSignIn] = [:]
    var before: Int64?
    for _ in 0..<Self.greatestPageCount {
      let page: HostAuditReply
      do {
        page = try host.authenticate { (client, deadline) throws(ServiceError) in
          try client.audit(since: start, before: before, deadline: deadline)
        }
      } catch { throw Self.failure(error) }
      for entry in page.entries {
        found[entry.session, default: ServiceSignIn(session: entry.session, entries: [])].entries.append(entry)
      }
      guard page.hasMore else { return Array(found.values) }
      // Each page must lead further back.
      guard let last = page.entries.last?.id, last < before ?? .max else {
        throw .service(.badReply(.member("entries")))
      }
      before = last
    }
    throw .auditTooLong
  }

  private static func failure(_ failure: CommandProblem) -> CommandProblem {
    switch failure.serviceError {
    case .notFound?: .auditNotTold
    case .notAccepted(status: 403)?: .auditNotForApplications
    default: failure
    }
  }
}
