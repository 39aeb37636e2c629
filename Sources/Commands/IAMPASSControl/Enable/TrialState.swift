import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSProtocol

/// The state of a trial, from its units and its notes.
enum TrialState: Equatable {
  case none
  /// - left: seconds until its timer elapses.
  /// - wasUsed: whether a user has signed in by phone, so that sign-in by phone stays on.
  case running(left: Int64, user: TrialUser, wasUsed: Bool)
  /// The timer no longer runs, but sign-in by phone is still on.
  case overdue
  /// The trial has switched sign-in by phone off, at this Unix time; nil if its note has no time.
  case ended(at: Int64?)

  static func look(_ host: HostOptions) -> TrialState {
    let note = TrialEndNote(besides: host.path)
    guard Trial.isUnderWay else { return note.isThere ? .ended(at: note.time) : .none }
    let units = TrialUnits(
      service: text("service"), timer: text("timer"), state: timerState(), now: MonotonicInstant.now())
    guard let left = units.left else { return .overdue }
    return .running(
      left: left, user: TrialUser(units.uid, folder: host.folder), wasUsed: Trial.wasUsed(by: units.uid, host))
  }

  private static func text(_ kind: String) -> String {
    let path = "\(Trial.folder)/\(Trial.name).\(kind)"
    let bytes = (try? SecureFile.read(path, privacy: .readableByAll, limit: 64 * 1024)) ?? []
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func timerState() -> UnitState {
    let words = [Trial.systemctl, "show", "--property=\(TrialUnits.properties)", "\(Trial.name).timer"]
    return UnitState(Program.run(words, seconds: 5)?.output ?? "")
  }

  /// The line of `check`; nil without a trial.
  var finding: Finding? {
    switch self {
    case .none: nil
    case .running(let left, let user, let wasUsed):
      Finding(.ok, .pam, Self.running(Span.text(left), user, wasUsed))
    case .overdue:
      Finding(
        .problem, .pam, "a trial's timer has ended or does not run: nothing switches sign-in by phone off",
        hint: "journalctl -u \(Trial.name); then iampassctl enable or iampassctl disable, which end the trial")
    case .ended(let time):
      Finding(
        .warning, .pam,
        "a trial ended" + (time.map { " (\(ClockTime.date($0)))" } ?? "")
          + " and switched sign-in by phone off: nobody had signed in by phone",
        hint: "iampassctl enable, or iampassctl disable if it is to stay off")
    }
  }

  private static func running(_ left: String, _ user: TrialUser, _ wasUsed: Bool) -> String {
    if wasUsed { return "a trial ends in \(left), and sign-in by phone stays on: \(user.name) has signed in by phone" }
    return user.needsKey
      ? "a trial turns itself off in \(left): whether \(user.name)'s security key was asked for, it cannot tell"
      : "a trial turns itself off in \(left), unless \(user.name) signs in by phone before"
  }
}

/// The user who must sign in by phone during a trial.
struct TrialUser: Equatable {
  /// The user's name; `somebody` if any user counts.
  let name: String
  /// PAM also asks this user for a security key, so their sign-ins do not count.
  let needsKey: Bool

  init(name: String, needsKey: Bool) {
    self.name = name
    self.needsKey = needsKey
  }

  /// - Parameter uid: nil: any user.
  init(_ uid: UInt32?, folder: String) {
    guard let uid else {
      self.init(name: "somebody", needsKey: false)
      return
    }
    guard let user = (try? SystemUser.find(uid: uid)) ?? nil else {
      self.init(name: "user \(uid)", needsKey: false)
      return
    }
    self.init(name: user.name.text, needsKey: SecurityKeyParts.isRequired(of: user.name, folder: folder))
  }
}

/// A trial's units as written, and the timer's state in systemd.
struct TrialUnits {
  static let properties = "ActiveState,SubState,ActiveEnterTimestampMonotonic"

  let service: String
  let timer: String
  let state: UnitState
  let now: MonotonicInstant

  /// Seconds until the timer elapses, rounded up; nil if it does not run, has elapsed, or has no readable time.
  var left: Int64? {
    guard state.isActive, state["SubState"] != "elapsed",
      let began = Int64(state["ActiveEnterTimestampMonotonic"]), began > 0, began < Int64.max / 1_000,
      let seconds = value("OnActiveSec", in: timer).flatMap({ Int64($0) }), Trial.bounds.contains(seconds)
    else { return nil }
    let end = MonotonicInstant(nanoseconds: began * 1_000).advanced(milliseconds: seconds * 1_000)
    return max(0, (end.milliseconds(since: now) + 999) / 1_000)
  }

  /// The user who must sign in; nil: any user.
  var uid: UInt32? {
    let words = value("ExecStart", in: service)?.split(separator: " ") ?? []
    guard let option = words.firstIndex(of: "--uid"), option + 1 < words.count else { return nil }
    return UInt32(words[option + 1])
  }

  private func value(_ key: String, in text: String) -> String? {
    let line = text.split(separator: "\n").first { $0.hasPrefix(key + "=") }
    return line.map { String($0.dropFirst(key.utf8.count + 1)) }
  }
}
