import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSProtocol
import PAMStacks

struct EnableCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enable", abstract: "Has the system's sign-ins ask the phone.",
    discussion: """
      Keep a root shell open until you have signed in again in another one. Checks everything first (iampassctl check), \
      switches the PAM profiles on with pam-auth-update, and reads the files back. With --trial it turns itself off \
      again, also after a restart, unless you signed in by phone meanwhile.
      """)

  @OptionGroup var host: HostOptions
  @Option(help: "PAM services that ask the phone, such as sudo,login,sshd; sudo stands for sudo-i too.")
  var services: String?
  @Flag(help: "Also ask the phone at greeters, screen lockers and polkit: @desktop in services.") var desktop = false
  @Option(help: "Turn it off again after so long, such as 10m, unless you sign in by phone meanwhile.")
  var trial: String?
  @Flag(help: "Let sshd ask PAM, where it does not, without a question.") var sshd = false
  @Flag(help: "Ask nothing: without --sshd, sshd stays as it is.") var yes = false
  @Flag(exclusivity: .exclusive) var key: SecurityKeyChoice?
  @Flag(help: "Go on with problems that check finds.") var force = false

  func validate() throws {
    if let trial {
      guard TimeSpan.seconds(trial).map({ Trial.bounds.contains($0) }) ?? false else {
        throw ValidationError("--trial takes a duration from 1m to 24h")
      }
    }
    if let services {
      guard let names = Self.names(services), !names.isEmpty else {
        throw ValidationError("--services takes names of files in /etc/pam.d, with commas between")
      }
    }
  }

  func run() throws {
    try reportingProblems {
      try requireRoot()
      // No question waits while the lock is held: others, and the end of a trial, need it.
      let isAgreed = try wantsSSHDropIn()
      let lock = try AdminLock(folder: host.folder)
      defer { withExtendedLifetime(lock) {} }
      try PAMProfiles.requireParts()
      if key == .securityKey || key == .securityKeySecond { try SecurityKeyParts.requireParts() }
      if trial != nil { try Trial.requireNothingOn() }
      let wanted = try wantedServices()
      // Whoever agreed to the question has read the warning.
      let dropIn = try planForSSHD(wanted, isRequested: isAgreed, asks: false, warns: sshd)
      try refuseProblems(
        PlannedChange(
          services: wanted.map(DesktopServices.expanded), hasSSHDropIn: dropIn == .write,
          securityKey: SecurityKeyParts.planned(key, folder: host.folder)))
      let names = try wanted ?? configured()
      if desktop { DesktopPlan.say(keyring: try configuration().keyring) }
      if dropIn == .leave { SSHDropIn.warn() }
      let trialUser = try switchOn(names, dropIn)
      BrokerUnit.settle(for: DesktopServices.expanded(names), unlock: try configuration().unlock)
      KeyringParts.settle(try configuration().keyring, host)
      ExpectedLines.note(try configuration(), folder: PAMProfiles.folder)
      Terminal.say(SwitchedOn.text(DesktopServices.expanded(names), sshdAsks: dropIn != .leave))
      if let trial, let trialUser {
        let isLate = UnixUsername(validating: trialUser).map {
          SecurityKeyParts.isRequired(of: $0, folder: host.folder)
        }
        Terminal.say(
          isLate == true
            ? "it turns itself off in \(trial): whether \(trialUser)'s security key was asked for, a trial cannot tell"
            : "it turns itself off in \(trial), unless \(trialUser) signs in by phone before")
      } else {
        Trial.cancel(host)
      }
      TrialEndNote(besides: host.path).forget()
      Terminal.say("hint: keep this shell open until you have signed in again in another one")
    }
  }

  /// Switches on completely or not at all: if a step fails, or a signal has come, the steps before it are undone. From
  /// here on signals do not end the process: what comes after the last step is finished.
  ///
  /// - Returns: the user who must sign in during the trial; nil without a trial.
  private func switchOn(_ names: [String], _ dropIn: SSHDropIn.Plan) throws(CommandProblem) -> String? {
    let interrupt = Interrupt()
    let wereOff = try PAMProfiles.off()
    let keyBefore = SecurityKeyParts.Before()
    let trialBefore = Trial.Units()
    try goOn(interrupt)
    // The trial begins before a step that could lock users out.
    let trialUser = try trial.flatMap { TimeSpan.seconds($0) }.map { (seconds) throws(CommandProblem) in
      try Trial.begin(seconds: seconds, options: host)
    }
    var old: [UInt8]?
    do throws(CommandProblem) {
      try goOn(interrupt)
      old = try write(names)
      try goOn(interrupt)
      try PAMProfiles.switchOn()
      try goOn(interrupt)
      try SecurityKeyParts.settle(key, services: DesktopServices.expanded(names), folder: host.folder)
      try goOn(interrupt)
      if dropIn == .write { try SSHDropIn.write() }
    } catch {
      SecurityKeyParts.putBack(keyBefore)
      PAMProfiles.takeBack(wereOff)
      if let old { putBack(old) }
      if trialUser != nil { Trial.takeBack(trialBefore, host) }
      throw error
    }
    return trialUser
  }

  /// Throws if Ctrl-C was pressed, or the connection to the terminal is lost.
  private func goOn(_ interrupt: Interrupt) throws(CommandProblem) {
    if interrupt.isPending() { throw .interruptedUnchanged }
  }

  private func refuseProblems(_ change: PlannedChange) throws(CommandProblem) {
    let doctor = Doctor(place: host.place, pamFolder: PAMProfiles.folder, change: change)
    guard !force else {
      // This is the only problem that switching on can cause.
      for jump in doctor.jumpFindings() { Terminal.complain("warning: \(jump.text.onOneLine)") }
      return
    }
    let problems = doctor.look().findings.filter { $0.level == .problem }
    guard problems.isEmpty else {
      for problem in problems { problem.show() }
      throw .problemsFound
    }
  }

  /// Nil if one of the names is not a file's name.
  static func names(_ text: String) -> [String]? {
    var names: [String] = []
    for name in text.split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init) {
      guard !name.hasPrefix("."), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }) else { return nil }
      if !names.contains(name) { names.append(name) }
      if name == "sudo", !names.contains("sudo-i") { names.append("sudo-i") }
    }
    return names
  }

  private func configured() throws(CommandProblem) -> [String] { try configuration().services }

  private func configuration() throws(CommandProblem) -> Configuration {
    do { return try Configuration(path: host.path) } catch {
      throw .misconfigured(.configuration(error, path: host.path), path: host.path)
    }
  }

  /// The services to list; nil if those in force stay.
  private func wantedServices() throws(CommandProblem) -> [String]? {
    guard let wanted = try withDesktop(services.flatMap(Self.names)) else { return nil }
    // sudo-i comes with sudo. The requested services must exist.
    let files = PAMReader(folder: PAMProfiles.folder)
    for name in wanted where name != "sudo-i" && name != DesktopServices.group && !files.has(name) {
      throw .file(FileError(.missing, path: "\(PAMProfiles.folder)/\(name)"))
    }
    return wanted
  }

  /// The names, and with `--desktop` the group; the services of the group are not named one by one.
  private func withDesktop(_ names: [String]?) throws(CommandProblem) -> [String]? {
    guard desktop else { return names }
    let others: [String]
    if let names { others = names } else { others = try configured() }
    return others.filter { $0 != DesktopServices.group && !DesktopServices.contains($0) } + [DesktopServices.group]
  }

  /// Whether sshd's file is to be written if it is needed. Asks at a terminal, if it is needed and no option answers.
  private func wantsSSHDropIn() throws(CommandProblem) -> Bool {
    guard !sshd, !yes, Terminal.isInteractive else { return sshd }
    return try planForSSHD(try wantedServices(), isRequested: false, asks: true, warns: true) == .write
  }

  /// ``refuseProblems(_:)`` reports a configuration that cannot be read.
  private func planForSSHD(
    _ wanted: [String]?, isRequested: Bool, asks: Bool, warns: Bool
  ) throws(CommandProblem) -> SSHDropIn.Plan {
    let names = wanted ?? (try? configured()) ?? []
    return names.contains("sshd") ? try SSHDropIn.plan(isRequested: isRequested, asks: asks, warns: warns) : .notNeeded
  }

  /// - Returns: the old text; nil if nothing was written.
  private func write(_ names: [String]) throws(CommandProblem) -> [UInt8]? {
    guard try configured() != DesktopServices.expanded(names) else { return nil }
    do throws(FileError) {
      let old = try SecureFile.read(host.path, privacy: .readableByAll, limit: 64 * 1024)
      try AtomicFile.write(old, to: host.path + ".bak", mode: 0o644)
      let text = KeyValueEditor.setting([("services", names.joined(separator: " "))], in: old)
      try AtomicFile.write(text, to: host.path, mode: 0o644)
      return old
    } catch { throw .file(error) }
  }

  private func putBack(_ old: [UInt8]) {
    do { try AtomicFile.write(old, to: host.path, mode: 0o644) } catch {
      Terminal.complain("warning: services stay as they were asked for: \(error.explanation)")
    }
  }
}

struct DisableCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disable", abstract: "Has the system's sign-ins ask for passwords only.",
    discussion: """
      Users, phones and configuration stay as they are; iampassctl enable turns it on again. iampassctl check no longer \
      tells that a trial has ended.
      """)

  @OptionGroup var host: HostOptions

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let lock = AdminLock.ifThere(folder: host.folder)
      defer { withExtendedLifetime(lock) {} }
      // This blocks signals for good: what has begun is finished.
      _ = Interrupt()
      try TurnOff.run(host)
      TrialEndNote(besides: host.path).forget()
      Terminal.say("sign-in by phone is off")
    }
  }
}

enum TurnOff {
  /// Switches off every part even if one fails, then throws the first failure. Keeps the trial if the profiles are
  /// still on.
  static func run(_ host: HostOptions) throws(CommandProblem) {
    var failure: CommandProblem?
    // This is first: otherwise the helper would report the lines as lost.
    do { try ExpectedLines.forget(host) } catch { failure = error }
    do { try KeyringParts.switchOff(host) } catch { failure = failure ?? error }
    do { try SecurityKeyParts.switchOff() } catch { failure = failure ?? error }
    do { try PAMProfiles.switchOff() } catch { failure = failure ?? error }
    do { try SSHDropIn.remove() } catch { failure = failure ?? error }
    BrokerUnit.switchOff()
    if (try? PAMProfiles.areOff()) == true {
      // If this is killed now, the service at boot must not say that what is off stays on.
      TrialNotes(besides: host.path).end()
      Trial.cancel(host)
    }
    if let failure { throw failure }
  }
}
