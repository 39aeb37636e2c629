import Glibc
import HostState
import IAMPASSClient

/// Keeps the service sessions that must be ended if this computer restarts, and ends those that an earlier start has
/// left.
///
/// `iampass-server` does the same by itself for a computer's own credential. Several computers may share an
/// application's credential, and other services do not know about restarts. Times are milliseconds after boot.
public final class EarlierSessions {
  /// How long after its own end a session is still ended, in seconds. The clock may be wrong soon after a start.
  private static let patience: Int64 = 86_400
  /// The most ends under way at once.
  private static let mostAtOnce = 32
  private static let complaintTime: Int64 = 600_000

  private struct Ending {
    let session: OpenSession
    let remote: RemoteSession
    var due: Int64
    var attempts = 0
  }

  private let kept: OpenSessions
  /// Which start of which computer this is; nil if that is not known. Nothing is kept or ended then.
  private let origin: OpenSession.Origin?
  private let unixTime: () -> Int64
  private var written: Set<String> = []
  private var endings: [String: Ending] = [:]
  private var questions: [SessionService.Ticket: String] = [:]
  private var complained: Int64?

  /// - Parameter unixTime: seconds since 1970.
  public init(_ kept: OpenSessions, origin: OpenSession.Origin?, unixTime: @escaping () -> Int64) {
    self.kept = kept
    self.origin = origin
    self.unixTime = unixTime
  }

  /// When the next end is due.
  var due: Int64? {
    guard questions.count < Self.mostAtOnce else { return nil }
    let waiting = Set(questions.values)
    return endings.values.filter { !waiting.contains($0.session.id) }.map(\.due).min()
  }

  /// Reads what was kept, once, when the helper begins.
  ///
  /// - Parameter present: ids of the records that there are.
  func takeUp(present: Set<String>, _ settings: ServiceSettings, _ log: any HelperLog, _ now: Int64) {
    guard let origin else { return log.write(LOG_WARNING, "nothing is kept for the next start: no boot or machine id") }
    do throws(LedgerError) {
      for id in try kept.ids() { takeUp(id, origin, present: present, settings, log, now) }
    } catch { complain("what an earlier start has left cannot be listed: \(error.explanation)", log, now) }
    guard !endings.isEmpty else { return }
    log.write(LOG_NOTICE, "ending \(endings.count) sessions at the service that were open before this start")
  }

  private func takeUp(
    _ id: String, _ origin: OpenSession.Origin, present: Set<String>, _ settings: ServiceSettings,
    _ log: any HelperLog, _ now: Int64
  ) {
    do throws(LedgerError) {
      let session = try kept.read(id)
      guard origin.isLater(than: session.origin) else {
        // A session of this start: its record decides, and without a record it has ended. Or a session of another
        // computer.
        if session.origin == origin, present.contains(id) { written.insert(id) } else { try kept.remove(id) }
        return
      }
      do { endings[id] = Ending(session: session, remote: try session.remoteSession(settings), due: now) } catch {
        log.write(LOG_WARNING, "session \(id) of an earlier start is not the configured service's: not ended there")
        try kept.remove(id)
      }
    } catch { log.write(LOG_WARNING, "session \(id) of an earlier start is left as it is: \(error.explanation)") }
  }

  /// Keeps a session of this start.
  func keep(_ record: SessionRecord, _ log: any HelperLog, _ now: Int64) {
    guard let origin, !written.contains(record.id) else { return }
    let session = OpenSession(record, origin: origin, now: unixTime(), uptime: now / 1_000)
    do {
      try kept.write(session)
      written.insert(record.id)
    } catch { complain("session \(record.publicName) is not kept for the next start: \(error.explanation)", log, now) }
  }

  /// Removes a session whose end the service knows.
  func forget(_ id: String, _ log: any HelperLog, _ now: Int64) {
    guard written.remove(id) != nil else { return }
    do { try kept.remove(id) } catch {
      complain("session \(id), which has ended, is kept all the same: \(error.explanation)", log, now)
    }
  }

  /// Tells the service the ends that are due.
  func turn(_ service: any SessionService, _ log: any HelperLog, _ now: Int64) {
    let waiting = Set(questions.values)
    for (id, ending) in endings where ending.due <= now && !waiting.contains(id) && questions.count < Self.mostAtOnce {
      guard unixTime() < ending.session.end + Self.patience else {
        drop(id, log, now)
        continue
      }
      questions[service.tellEnd(of: ending.remote)] = id
    }
  }

  /// - Returns: false if the question was not asked here.
  func took(
    _ ticket: SessionService.Ticket, _ outcome: ServiceOutcome, _ pace: PollingSchedule, _ log: any HelperLog,
    _ now: Int64
  ) -> Bool {
    guard let id = questions.removeValue(forKey: ticket) else { return false }
    if outcome == .endTold {
      drop(id, log, now)
    } else if var ending = endings[id] {
      ending.attempts += 1
      ending.due = now + pace.afterFailure(ending.attempts)
      endings[id] = ending
    }
    return true
  }

  /// Begins again: questions under way are lost.
  func startOver(_ now: Int64) {
    for id in questions.values { endings[id]?.due = now }
    questions = [:]
  }

  private func drop(_ id: String, _ log: any HelperLog, _ now: Int64) {
    endings[id] = nil
    do { try kept.remove(id) } catch {
      complain("session \(id) of an earlier start is kept all the same: \(error.explanation)", log, now)
    }
  }

  private func complain(_ text: String, _ log: any HelperLog, _ now: Int64) {
    if let complained, now - complained < Self.complaintTime { return }
    complained = now
    log.write(LOG_WARNING, text)
  }
}
