import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Reports sign-ins without the service as soon as the service answers. The user's phone and the audit get each use.
/// While the session of such a sign-in lasts, the service is asked whether the user has disowned it. Times are
/// milliseconds after boot.
public final class CodeReports {
  /// The most reports under way at once.
  private static let mostAtOnce = 8
  private static let complaintTime: Int64 = 600_000
  /// The time between two questions about a session that goes on.
  static let askingTime: Int64 = 15_000
  /// How long a user who could not be looked up is not looked up again.
  private static let lookupPause: Int64 = 600_000
  /// The time for looking users up at once: a directory may be slow, and nothing is watched meanwhile.
  private static let lookupTime: Int64 = 2_000
  /// After this many refusals a report is given up.
  private static let leastRefused = 3

  private struct Report {
    let use: ReportedUse
    let token: Secret
    var due: Int64
    var attempts = 0
    var refusals = 0
    /// The service has the report. Only the end of the session is still to be told.
    var isSettled = false
    /// Whether the session was open in the last report.
    var wasOpen = false
  }

  private let codes: RecoveryCodes
  private let phones: PhoneUses
  private let hostName: () -> String?
  /// The user's token; nil if the user has none any more.
  private let token: (UnixUsername) throws -> Secret?
  private var reports: [String: Report] = [:]
  /// Uses whose users could not be looked up, and when that is tried again.
  private var failedLookups: [String: Int64] = [:]
  private var questions: [SessionService.Ticket: String] = [:]
  private var complained: Int64?
  /// Uses that their users have disowned. ``takeDisowned()`` takes them.
  private var disowned: [String] = []

  /// - Parameters:
  ///   - hostName: this computer's name at the service.
  ///   - token: a user's token in the users file; nil only if it is certain that the user has none.
  public init(
    _ codes: RecoveryCodes, _ phones: PhoneUses, hostName: @escaping () -> String?,
    token: @escaping (UnixUsername) throws -> Secret?
  ) {
    self.codes = codes
    self.phones = phones
    self.hostName = hostName
    self.token = token
  }

  /// When the next report is due.
  var due: Int64? {
    guard questions.count < Self.mostAtOnce else { return nil }
    let waiting = Set(questions.values)
    return reports.filter { !waiting.contains($0.key) }.map(\.value.due).min()
  }

  /// Looks for uses that were not reported yet, and for sessions that go on.
  ///
  /// - Parameter open: uses that opened sessions which go on.
  func look(open: [ReportedUse], _ log: any HelperLog, _ now: Int64) {
    failedLookups = failedLookups.filter { $0.value > now }
    let end = BootTime.milliseconds() + Self.lookupTime
    do throws(RecoveryError) {
      for use in try codes.unreportedUses() { add(ReportedUse(use), before: end, log, now) }
    } catch { complain("uses of recovery codes cannot be listed: \(error.explanation)", log, now) }
    do throws(FileError) {
      for use in try phones.unreported() { add(ReportedUse(use), before: end, log, now) }
    } catch { complain("approvals without the service cannot be listed: \(error.explanation)", log, now) }
    for use in open { add(use, before: end, log, now) }
  }

  /// - Parameter end: no user is looked up from then on; milliseconds after boot.
  private func add(_ use: ReportedUse, before end: Int64, _ log: any HelperLog, _ now: Int64) {
    guard reports[use.id] == nil, failedLookups[use.id] == nil, BootTime.milliseconds() < end else { return }
    do {
      if let token = try token(use.user) {
        reports[use.id] = Report(use: use, token: token, due: now)
      } else {
        // The user is not known at the service, so there is nothing to report.
        settle(use, log, now)
      }
    } catch {
      failedLookups[use.id] = now + Self.lookupPause
      let why =
        (error as? UserLookupError)?.explanation ?? (error as? LookupFailure)?.explanation
        ?? "the user's token cannot be looked up"
      complain("a use of a code is not told: user=\(use.user): \(why)", log, now)
    }
  }

  /// Sends the reports that are due.
  ///
  /// - Parameter open: ids of uses whose sessions go on.
  func turn(open: Set<String>, _ service: any SessionService, _ log: any HelperLog, _ now: Int64) {
    let waiting = Set(questions.values)
    for (id, report) in reports where report.due <= now && !waiting.contains(id) && questions.count < Self.mostAtOnce {
      // The user cannot disown a session that has ended.
      reports[id]?.wasOpen = open.contains(id)
      let use = report.use.report(host: hostName(), isOpen: open.contains(id))
      questions[service.tellCodeUse(use, of: report.token)] = id
    }
  }

  /// - Returns: false if the question was not asked here.
  func took(
    _ ticket: SessionService.Ticket, _ outcome: ServiceOutcome, _ pace: PollingSchedule, _ log: any HelperLog,
    _ now: Int64
  ) -> Bool {
    guard let id = questions.removeValue(forKey: ticket) else { return false }
    guard var report = reports[id] else { return true }
    switch outcome {
    case .codeUseTold, .codeUseDisowned:
      if !report.isSettled {
        log.write(
          LOG_INFO, "the service knows of \(report.use.words): \(LogField.text("user", report.use.user.text))")
        settle(report.use, log, now)
      }
      if outcome == .codeUseDisowned { disowned.append(id) }
      goOn(report, pace, now)
    case .codeUseRefused where report.refusals + 1 >= Self.leastRefused:
      if !report.isSettled {
        log.write(LOG_WARNING, "the service takes no report of \(report.use.words)")
        settle(report.use, log, now)
      }
      goOn(report, pace, now)
    case .failed, .answer, .mark, .endTold, .users, .signedUsers, .codeUseRefused:
      report.attempts += 1
      if outcome == .codeUseRefused { report.refusals += 1 }
      report.due = now + pace.afterFailure(report.attempts)
      reports[id] = report
    }
    return true
  }

  /// Asks again while the session lasts.
  private func goOn(_ report: Report, _ pace: PollingSchedule, _ now: Int64) {
    guard report.wasOpen else {
      reports[report.use.id] = nil
      return
    }
    var report = report
    report.isSettled = true
    report.attempts = 0
    report.due = now + pace.spread(Self.askingTime)
    reports[report.use.id] = report
  }

  /// Uses that their users have disowned since the last call.
  func takeDisowned() -> [String] {
    defer { disowned = [] }
    return disowned
  }

  /// Begins again: reports under way are lost.
  func startOver(_ now: Int64) {
    for id in questions.values { reports[id]?.due = now }
    questions = [:]
  }

  private func settle(_ use: ReportedUse, _ log: any HelperLog, _ now: Int64) {
    reports[use.id] = nil
    do {
      switch use.source {
      case .code(let unreported): try codes.noteReported(unreported)
      case .phone: try phones.forget(use.id)
      case .session: break
      }
    } catch let error as RecoveryError {
      complain("a told use of a recovery code cannot be noted: \(error.explanation)", log, now)
    } catch { complain("a told approval cannot be noted", log, now) }
  }

  private func complain(_ text: String, _ log: any HelperLog, _ now: Int64) {
    if let complained, now - complained < Self.complaintTime { return }
    complained = now
    log.write(LOG_WARNING, text)
  }
}
