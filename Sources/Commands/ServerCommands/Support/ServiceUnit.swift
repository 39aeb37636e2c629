import CommandSupport
import Glibc
import HostSystem

/// The packaged service's systemd unit.
struct ServiceUnit {
  private static let systemctl = "/usr/bin/systemctl"
  /// The longest wait for each of systemd's answers, in seconds.
  private static let patience: Int64 = 30
  /// How long a started service may take until it listens, in seconds. After a crash it first checks the database for a
  /// few seconds, whatever its size.
  private static let startTime: Int64 = 20

  let name: String

  /// Whether systemd runs this computer. It does not while an image is built.
  static var isThere: Bool { access("/run/systemd/system", F_OK) == 0 && Program.exists(systemctl) }

  var isActive: Bool {
    Program.run([Self.systemctl, "is-active", "--quiet", name], seconds: Self.patience)?.status == 0
  }

  /// Whether systemd runs it, or keeps restarting it.
  var isWanted: Bool {
    let state = Program.run([Self.systemctl, "is-active", name], seconds: Self.patience)?.output
    return ["active\n", "activating\n", "reloading\n"].contains(state)
  }

  /// Whether an administrator's unit gives the service a PostgreSQL database.
  var hasOtherDatabase: Bool {
    let words = [Self.systemctl, "show", "--property=ExecStart", "--value", name]
    return Program.run(words, seconds: Self.patience)?.output.contains("--database") ?? false
  }

  /// What systemd shows of the service's command and environment; nil if it does not answer.
  var command: String? {
    let words = [Self.systemctl, "show", "--property=ExecStart", "--property=Environment", name]
    let done = Program.run(words, seconds: Self.patience)
    return done?.status == 0 ? done?.output : nil
  }

  /// Whether systemd gives the service this file as its credential with the keys of sealed secrets.
  func givesSealKeys(_ path: String) -> Bool {
    let shown = Program.run([Self.systemctl, "cat", name], seconds: Self.patience)
    return shown?.status == 0 && Self.sealKeys(in: shown?.output ?? "") == path
  }

  /// The path of that file; nil if the unit names none.
  ///
  /// - Parameter shown: the unit with its drop-ins, in the order in which they count.
  static func sealKeys(in shown: String) -> String? {
    var path: String?
    for line in shown.split(separator: "\n") {
      for (setting, isFile) in [("LoadCredential=", true), ("LoadCredentialEncrypted=", false)] {
        if line == setting { path = nil }
        let begin = "\(setting)\(SealKeyFile.credential)"
        guard line.hasPrefix(begin) else { continue }
        let rest = line.dropFirst(begin.count)
        if rest.isEmpty { path = nil }
        if rest.hasPrefix(":") { path = isFile ? String(rest.dropFirst()) : nil }
      }
    }
    return path
  }

  /// Starts the service with the credentials that its unit gives it now. systemd waits until it serves, unless an
  /// administrator's unit is of another type.
  func restart() throws(CommandProblem) {
    let wait = SetupWait("until the service is restarted", seconds: Self.patience, heedsSignals: false)
    try does("restart", wait)
  }

  /// Makes the running service load renewed files. Connections go on.
  ///
  /// - Returns: false if it does not run.
  func reload() throws(CommandProblem) -> Bool {
    guard isActive else { return false }
    try does("reload", SetupWait("until the service has read its files again", seconds: Self.patience))
    return true
  }

  /// Starts the service with its present settings, and waits until it listens. systemd reports that, unless an
  /// administrator's unit is of another type.
  ///
  /// - Parameter heedsSignals: whether Ctrl-C and similar signals end the wait.
  func restart(listeningOn address: ListenAddress, heedsSignals: Bool = true) throws(CommandProblem) {
    do {
      try does(
        "restart",
        SetupWait("until the service is restarted", seconds: Self.patience, heedsSignals: heedsSignals))
    } catch {
      // The service is not ready yet, or has ended before, and systemd starts it again.
      guard !heedsSignals || !SetupInterruption.isNoted, isWanted else { throw error }
    }
    let wait = SetupWait("until the service listens", seconds: Self.startTime, heedsSignals: heedsSignals)
    let end = MonotonicInstant.now().advanced(milliseconds: Self.startTime * 1_000)
    while MonotonicInstant.now() < end, wait.goesOn() {
      if ListenProbe.answers(address) { return }
      usleep(100_000)
    }
    try wait.check()
    throw namespaceProblem ?? .unitDoesNotListen(name, address.text)
  }

  /// Stops the service, because it did not run before the setup.
  func stop() throws(CommandProblem) {
    try does("stop", SetupWait("until the service is stopped", seconds: Self.patience, heedsSignals: false))
  }

  /// Nil unless the service has ended because systemd could not set up its restrictions.
  private var namespaceProblem: CommandProblem? {
    let words = [Self.systemctl, "show", "--property=ExecMainStatus", "--value", name]
    guard let output = Program.run(words, seconds: Self.patience)?.output else { return nil }
    return NamespaceFailure(mainStatus: String(output.prefix { $0 != "\n" })).map { .noNamespace($0, name) }
  }

  private func does(_ word: String, _ wait: SetupWait) throws(CommandProblem) {
    let done = Program.run([Self.systemctl, word, name], seconds: Self.patience, whileTrue: wait.goesOn)
    try wait.check()
    guard done?.status == 0 else { throw namespaceProblem ?? .unitFails(word, name) }
  }
}
