import ArgumentParser
import CommandSupport
import Glibc
import HostState
import IAMPASSProtocol

extension SessionCommand {
  struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows sessions as they come, change and go, until Ctrl-C.",
      discussion: "Begins with those that are there. A line a change: the time, what happened, and whose session it is."
    )

    /// The time between two looks, in milliseconds.
    private static let interval: Int64 = 250

    @OptionGroup var host: HostOptions
    @Flag(help: "Print a JSON object a line.") var json = false

    func run() throws {
      try reportingProblems {
        let records = try RecordedSessions(host)
        let interrupt = Interrupt()
        var seen: [String: RecordedSession] = [:]
        records.warnWithoutHelper()
        repeat {
          let now = try records.all()
          for change in SessionChange.between(seen, now) { say(change) }
          seen = Dictionary(now.map { ($0.record.id, $0) }) { first, _ in first }
        } while Terminal.outputError == nil && interrupt.wait(milliseconds: Self.interval) != .interrupted
        // Ctrl-C is the normal end of this command.
      }
    }

    private func say(_ change: SessionChange) {
      if json { Terminal.say(change.json) } else { Terminal.say("\(ClockTime.now())  \(change.line)") }
    }
  }
}

/// What happened to a session between two looks.
struct SessionChange {
  /// `opened`, `ended`, or the new status.
  let word: String
  let session: RecordedSession

  /// The changes, those of the oldest session first.
  static func between(_ before: [String: RecordedSession], _ now: [RecordedSession]) -> [SessionChange] {
    let there = Set(now.map(\.record.id))
    let ended = before.values.filter { !there.contains($0.record.id) }
      .sorted { ($0.record.created, $0.record.id) < ($1.record.created, $1.record.id) }
      .map { SessionChange(word: "ended", session: $0) }
    return ended
      + now.compactMap { session in
        guard let old = before[session.record.id] else { return SessionChange(word: "opened", session: session) }
        let isSame = old.status == session.status && old.note?.remark == session.note?.remark
        return isSame ? nil : SessionChange(word: session.status, session: session)
      }
  }

  var line: String {
    let columns = session.columns
    let remark = columns[8] == "-" ? "" : "  (\(columns[8]))"
    let name = word.padding(to: 11)
    return "\(name)  \(columns[0])  \(columns[1])  \(columns[2])  from \(columns[3])\(remark)"
  }

  var json: JSON { .object(["change": .string(word), "session": session.json]) }
}

enum ClockTime {
  /// The local time, such as `17:04:09`.
  static func now() -> String {
    var time = time(nil)
    var parts = tm()
    localtime_r(&time, &parts)
    return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }

  /// The local date and time, such as `2026-05-31 17:04:09`.
  ///
  /// - Parameter seconds: Unix time.
  static func date(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return "\(seconds)" }
    var text = [CChar](repeating: 0, count: 64)
    let count = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S", &parts)
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension String {
  fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
