import ArgumentParser
import CHost
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSProtocol

/// A switch-on that undoes itself. A timer runs `trial-end`. If the computer restarts meanwhile, a service at boot runs
/// it.
enum Trial {
  /// The valid times in seconds. Less is too short for a test, and more does not protect.
  static let bounds: ClosedRange<Int64> = 60...86_400

  static let folder = "/etc/systemd/system"
  static let name = "iampass-trial"
  static let systemctl = "/usr/bin/systemctl"

  /// Whether ``requireNothingOn()`` lets a trial begin, as far as PAM's files can be read.
  static var canBegin: Bool { (try? PAMProfiles.areOff()) == true && PAMFiles.moduleLines().isEmpty }

  /// Throws if PAM has lines of this product already, and names them. The end of a trial switches everything off: what
  /// was on before, such as a security key as the second factor, must not go with it. It cannot take away lines that were
  /// written by hand, or whose file an administrator has edited.
  static func requireNothingOn() throws(CommandProblem) {
    let lines = PAMFiles.moduleLines()
    for line in lines { Terminal.complain("already there: \(line.place): \(line.text.onOneLine)") }
    guard lines.isEmpty else { throw .trialOfWhatIsOn }
  }

  /// Begins a trial. Returns the user who must sign in, for the message.
  static func begin(seconds: Int64, options: HostOptions) throws(CommandProblem) -> String {
    guard access("/run/systemd/system", F_OK) == 0 else { throw .noSystemd }
    guard let own = realpath("/proc/self/exe", nil) else {
      throw .file(FileError(.system(errno), path: "/proc/self/exe"))
    }
    defer { free(own) }
    let user: SystemUser?
    do {
      user = try operatorUID().flatMap { (uid) throws(UserLookupError) in try SystemUser.find(uid: uid) }
    } catch { throw .lookup(error) }
    let words =
      [String(cString: own), "trial-end", "--config", options.path]
      + (user.map { ["--uid", String($0.uid)] } ?? [])
    // systemd would misread a path with a space or a percent sign (systemd.service(5)).
    guard words.allSatisfy({ $0.utf8.allSatisfy(isPlain) }) else {
      throw .file(FileError(.system(EINVAL), path: options.path))
    }
    let before = Units()
    do throws(FileError) {
      try TrialNotes(besides: options.path).begin()
      try AtomicFile.write(Array(service(words).utf8), to: "\(folder)/\(name).service", mode: 0o644)
      try AtomicFile.write(Array(timer(seconds).utf8), to: "\(folder)/\(name).timer", mode: 0o644)
    } catch {
      before.putBack(options)
      throw .file(error)
    }
    for words in [["daemon-reload"], ["enable", "\(name).service"], ["restart", "\(name).timer"]] {
      guard let answer = Program.run([systemctl] + words, seconds: 30), answer.status == 0 else {
        before.putBack(options)
        throw .programFailed("systemctl \(words.joined(separator: " "))", "")
      }
    }
    do throws(FileError) { try settle() } catch {
      before.putBack(options)
      throw .file(error)
    }
    return user?.name.text ?? "somebody"
  }

  /// Makes the units survive a power cut: what `enable` changes next must not outlast what ends the trial.
  private static func settle() throws(FileError) {
    try FolderFlush.settle(folder)
    // systemctl has made a link in it, by which the service runs at boot.
    let wanted = "\(folder)/multi-user.target.wants"
    if access(wanted, F_OK) == 0 { try FolderFlush.settle(wanted) }
  }

  private static var files: [String] { ["service", "timer"].map { "\(folder)/\(name).\($0)" } }

  static var isUnderWay: Bool { files.contains { access($0, F_OK) == 0 } }

  /// The units before the change, in case the beginning fails: an earlier trial must still end.
  struct Units {
    private let texts: [(path: String, text: [UInt8])]

    init() {
      texts = files.compactMap { path in
        (try? SecureFile.read(path, privacy: .readableByAll, limit: 64 * 1024)).map { (path, $0) }
      }
    }

    /// Restores the units. The earlier trial's time begins again.
    func putBack(_ options: HostOptions) {
      guard !texts.isEmpty else { return cancel(options) }
      for (path, text) in texts {
        do { try AtomicFile.write(text, to: path, mode: 0o644) } catch {
          Terminal.complain("warning: \(error.explanation)")
        }
      }
      for words in [["daemon-reload"], ["restart", "\(name).timer"]] {
        _ = Program.run([systemctl] + words, seconds: 30)
      }
    }
  }

  /// Undoes ``begin(seconds:options:)`` once nothing is on again. What could not be taken back, as on a full disk, is left
  /// to the trial's end, which tries again each minute. No sign-in makes such a half stay on.
  ///
  /// - Parameter before: the units before the trial.
  static func takeBack(_ before: Units, _ options: HostOptions) {
    guard !canBegin else { return before.putBack(options) }
    TrialNotes(besides: options.path).end()
    Terminal.complain("warning: a part of sign-in by phone is still on: the trial goes on, and its end switches it off")
    Terminal.complain("hint: mend what failed, such as a full disk, then iampassctl disable")
  }

  /// Removes timer and service, and then the notes; does nothing without a trial.
  static func cancel(_ options: HostOptions) {
    // If this is killed, the service runs at the next boot. It must still find that the user has signed in by phone:
    // otherwise it would switch off what stays on.
    defer { TrialNotes(besides: options.path).end() }
    guard isUnderWay else { return }
    _ = Program.run([systemctl, "stop", "\(name).timer"], seconds: 30)
    _ = Program.run([systemctl, "disable", "\(name).service"], seconds: 30)
    for file in files { unlink(file) }
    _ = Program.run([systemctl, "daemon-reload"], seconds: 30)
  }

  /// Whether a user has signed in by phone during the trial, by the module's notes. If they cannot be read or are
  /// empty, the trial has failed.
  ///
  /// - Parameter uid: the user who must sign in; nil: any user.
  static func wasUsed(by uid: UInt32?, _ host: HostOptions) -> Bool {
    guard let services = try? Configuration(path: host.path).services else { return false }
    let user = uid.flatMap { try? SystemUser.find(uid: $0) }
    guard uid == nil || user != nil else { return false }
    // The phone approves before PAM asks for the key, so a user who needs a key may not have got in.
    return TrialNotes(besides: host.path).hasApproval(of: user?.name, through: services) {
      !SecurityKeyParts.isRequired(of: $0, folder: host.folder)
    }
  }

  /// The user who began the login session of this command (audit(7)); nil for root, and outside of a login session.
  private static func operatorUID() -> UInt32? {
    let text = String(decoding: ProcessFile.read("/proc/self/loginuid", limit: 32) ?? [], as: UTF8.self)
    if let uid = UInt32(text.filter { $0 != "\n" }), uid != UInt32.max, uid != 0 { return uid }
    // sudo(8) sets it. It serves if the kernel does not keep a login uid.
    return getenv("SUDO_UID").flatMap { UInt32(String(cString: $0)) }.flatMap { $0 == 0 ? nil : $0 }
  }

  static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: Array("/._-".utf8).contains(byte)
    }
  }

  /// The service's unit, which runs at boot before users can sign in.
  static func service(_ words: [String]) -> String {
    """
    # Written by iampassctl enable --trial, removed when the trial ends.
    [Unit]
    Description=End of the trial of sign-in by phone
    Before=systemd-user-sessions.service
    StartLimitIntervalSec=0

    [Service]
    Type=oneshot
    ExecStart=\(words.joined(separator: " "))
    TimeoutStartSec=120
    # The disk may be full, or debconf be in use: a trial ends all the same.
    Restart=on-failure
    RestartSec=60

    [Install]
    WantedBy=multi-user.target

    """
  }

  static func timer(_ seconds: Int64) -> String {
    """
    # Written by iampassctl enable --trial, removed when the trial ends.
    [Unit]
    Description=Trial of sign-in by phone

    [Timer]
    OnActiveSec=\(seconds)
    AccuracySec=1s

    """
  }
}

/// The command that the trial's timer runs, and the service at boot.
struct TrialEndCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trial-end", abstract: "Ends a trial of sign-in by phone.", shouldDisplay: false)

  @OptionGroup var host: HostOptions
  @Option var uid: UInt32?
  /// Units of an older version pass this option. That version searched the journal from this time. Such a trial ends as
  /// unused.
  @Option var since: UInt64?

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let lock = AdminLock.ifThere(folder: host.folder)
      defer { withExtendedLifetime(lock) {} }
      // This blocks signals for good: what has begun is finished, also if systemd stops the unit.
      _ = Interrupt()
      let note = TrialEndNote(besides: host.path)
      if Trial.wasUsed(by: uid, host) {
        Trial.cancel(host)
        note.forget()
        say("sign-in by phone stays on: the trial's user has signed in by phone")
      } else {
        // systemd runs an end that failed again each minute.
        let hasFailedBefore = note.isThere
        // The note is written first: if this command is killed, it runs again, and no trial ends without a note. The
        // trial ends even if there is no room for the note.
        do throws(FileError) { try note.write(Int64(time(nil))) } catch {
          Terminal.complain("warning: \(error.explanation)")
        }
        do throws(CommandProblem) { try TurnOff.run(host) } catch {
          say("the trial is over, but \(error.message)", onTerminals: !hasFailedBefore)
          throw error
        }
        say("sign-in by phone is off again: nobody signed in by phone during the trial")
      }
    }
  }

  /// - Parameter onTerminals: whether all users' terminals show it too.
  private func say(_ text: String, onTerminals: Bool = true) {
    Terminal.say(text)
    guard onTerminals, Program.exists("/usr/bin/wall") else { return }
    _ = Program.run(["/usr/bin/wall", "iampassctl: \(text)"], seconds: 10)
  }
}
