import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Shows this computer's sign-ins, from its journal and from the service.",
    discussion: """
      A line a sign-in, the oldest first. AT THE SERVICE is what the service noted of the same session; it tells a \
      computer its own entries only. A sign-in that the service noted and the journal lacks is shown, too.
      """)

  @OptionGroup var host: HostOptions
  @Option(help: "Only this user's.") var user: String?
  @Option(
    help: "How far back: 90s, 15m, 12h, 7d, or a local time such as 2026-11-24 or '2026-11-24 17:00' (default: 7d).")
  var since: AuditStart?
  @Flag(help: "Show the journal alone, and do not ask the service.") var local = false
  @Flag(help: "Print a JSON array.") var json = false

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let name = try user.map { (text) throws(CommandProblem) in try UnixUsername(typed: text).text }
      let start = (since ?? .usual).unixTime(now: Int64(time(nil)))
      let journal = try AuditJournal.read(since: start)
      var atService: [ServiceSignIn]?
      var problem: CommandProblem?
      if !local {
        do throws(CommandProblem) { atService = try ServiceAudit(path: host.path).signIns(since: start) } catch {
          problem = error
        }
      }
      let rows = AuditRow.joined(journal.signIns, atService).filter { name == nil || $0.user == name }
      if json { Terminal.say(.array(rows.map(\.json))) } else { AuditRow.show(rows) }
      if journal.isCut { Terminal.complain("iampassctl: the journal has more: name a later --since, or a user's time") }
      guard let problem else { return }
      Terminal.complain("iampassctl: what the service noted is missing")
      throw problem
    }
  }
}

/// The time from which entries are shown.
struct AuditStart: ExpressibleByArgument {
  private static let day: Int64 = 86_400
  static let usual = AuditStart(.ago(seconds: 7 * day))

  private enum Form {
    case ago(seconds: Int64)
    case at(unixTime: Int64)
  }

  private let form: Form

  private init(_ form: Form) { self.form = form }

  init?(argument: String) {
    if argument.hasSuffix("d"), let days = TimeSpan.seconds(String(argument.dropLast())), days <= 36_500 {
      form = .ago(seconds: days * Self.day)
    } else if let seconds = TimeSpan.seconds(argument) {
      form = .ago(seconds: seconds)
    } else if let time = Self.localTime(argument) {
      form = .at(unixTime: time)
    } else {
      return nil
    }
  }

  /// The time in Unix seconds.
  func unixTime(now: Int64) -> Int64 {
    switch form {
    case .ago(let seconds): max(0, now - seconds)
    case .at(let time): time
    }
  }

  /// Parses a local time such as `2026-11-24`, `2026-11-24 17:00` or `2026-11-24 17:00:30`.
  private static func localTime(_ text: String) -> Int64? {
    let halves = text.split(separator: " ", omittingEmptySubsequences: false)
    guard (1...2).contains(halves.count), let date = numbers(halves[0], "-"), date.count == 3,
      let clock = halves.count == 2 ? numbers(halves[1], ":") : [0, 0], (2...3).contains(clock.count)
    else { return nil }
    var parts = tm()
    parts.tm_year = date[0] - 1_900
    parts.tm_mon = date[1] - 1
    parts.tm_mday = date[2]
    parts.tm_hour = clock[0]
    parts.tm_min = clock[1]
    parts.tm_sec = clock.count == 3 ? clock[2] : 0
    parts.tm_isdst = -1
    let asked = parts
    let time = mktime(&parts)
    // mktime turns the 31st of a month with 30 days into the first of the next month.
    guard time >= 0, parts.tm_mon == asked.tm_mon, parts.tm_mday == asked.tm_mday, parts.tm_min == asked.tm_min,
      parts.tm_sec == asked.tm_sec
    else { return nil }
    return Int64(time)
  }

  private static func numbers(_ text: Substring, _ separator: Character) -> [Int32]? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part in
      (1...4).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int32(part) : nil
    }
    return numbers.count == parts.count ? numbers : nil
  }
}
