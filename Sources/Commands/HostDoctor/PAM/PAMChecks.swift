import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import PAMStacks

/// Checks each PAM service that has the module, and those that should have it.
struct PAMChecks {
  /// The services that people usually sign in with.
  private static let usual = ServiceTable.names(where: \.isUsual)

  let folder: String
  let configuration: Configuration
  /// The configuration's path. A PAM line may name another configuration.
  let path: String
  /// The change that `enable` is about to make. sshd is judged with the file that `enable` will write.
  var change: PlannedChange?
  /// sudo's policy, which may name other PAM services.
  var sudoers = Sudoers.Answer.notInstalled

  private var reader: PAMReader { PAMReader(folder: folder) }

  func findings() -> [Finding] {
    var findings: [Finding] = []
    var having: [StackJudgement] = []
    var without: [String] = []
    let listed = configuration.services
    for service in lookedAt {
      guard reader.has(service) else {
        // @desktop lists programs of which a computer has only some.
        if listed.contains(service), !Self.usual.contains(service), !DesktopServices.contains(service) {
          findings.append(
            Finding(
              .warning, .pam, "\(service) is in services, but there is no \(folder)/\(service)",
              hint: "check its spelling in \(path)"))
        }
        if listed.contains(service) {
          findings += [LockerWithoutFile.finding(service, folder: folder)].compactMap(\.self)
        }
        continue
      }
      do throws(PAMFileError) {
        let stack = StackJudgement(
          service: service, auth: try reader.stack("auth", of: service),
          session: try reader.stack("session", of: service), shows: configuration.row(service)?.shows)
        if stack.hasModule { having.append(stack) } else { without.append(service) }
      } catch {
        findings.append(Finding(.problem, .pam, "\(service): \(error.explanation)"))
      }
    }
    return findings + judge(having, without) + sudoFindings()
      + others().flatMap { unlisted($0, refusing: .warning) } + jumpFindings()
  }

  /// The services that sudo's policy names besides the usual ones.
  private var sudos: [String] {
    if case .settings(let settings) = sudoers { settings.services.map(\.name) } else { [] }
  }

  /// Whether the service really opens a session. If it counts otherwise, that is reported for sudo's policy.
  private func opensSession(_ service: String) -> Bool {
    configuration.opensSession(service) && (configuration.knows(service) || !sudos.contains(service))
  }

  /// The services that people sign in with here, by the table, by sudo's policy or by the list; each once.
  private var lookedAt: [String] {
    var names = Self.usual
    for name in sudos + configuration.services where !names.contains(name) { names.append(name) }
    return names
  }

  private func sudoFindings() -> [Finding] {
    switch sudoers {
    case .notInstalled: []
    case .failed(let output): configuration.services.contains("sudo") ? [Sudoers.unreadable(output)] : []
    case .settings(let settings):
      settings.findings(
        listed: configuration.services, opensSession: configuration.opensSession, isThere: reader.has)
    }
  }

  /// Jumps of an administrator's own lines that skip the phone's line, the session's line or lines that `enable` is
  /// about to write. Each is reported once for all services. `enable` writes no lines for account and password.
  func jumpFindings() -> [Finding] {
    let auth = blocks("common-auth")
    let session = blocks("common-session")
    let planned = auth.flatMap { blocks in
      change.map {
        PlannedLines(
          blocks, stack: stack("auth", of: blocks.path), hasKeyring: configuration.keyring == .sealed,
          securityKey: $0.securityKey)
      }
    }
    let plannedSession =
      change == nil ? nil : session.map { PlannedLines($0, session: stack("session", of: $0.path)) }
    var known: Set<String> = []
    let services = lookedAt + reader.services(among: PAMFiles.names(in: folder))
    return services.filter { ServiceTable.row($0)?.asksNobody != true }.flatMap { service -> [JumpFinding] in
      let stack = StackJudgement(
        service: service, auth: stack("auth", of: service), session: stack("session", of: service))
      let isWatched = configuration.services.contains(service) && configuration.opensSession(service)
      return stack.crossingJumps(auth) + (isWatched ? stack.crossingSessionJumps() : [])
        + (planned.map { stack.movedJumps($0) } ?? []) + (plannedSession.map { stack.movedSessionJumps($0) } ?? [])
    }.filter { known.insert($0.text).inserted }.map(\.finding)
  }

  /// The stack; empty if it cannot be read, which is reported elsewhere.
  private func stack(_ kind: String, of name: String) -> [PAMEntry] { (try? reader.stack(kind, of: name)) ?? [] }

  private func blocks(_ name: String) -> ManagedBlocks? {
    let path = reader.path(of: name)
    return PAMReader.readFile(path).flatMap { ManagedBlocks(path: path, text: $0) }
  }

  /// The methods that each listed service with the module asks for; if the list is empty, the phones choose.
  func askedMethods() -> [(service: String, methods: [AuthenticationMethod])] {
    configuration.services.flatMap { service -> [(service: String, methods: [AuthenticationMethod])] in
      guard let auth = try? reader.stack("auth", of: service) else { return [] }
      return StackJudgement(service: service, auth: auth, session: []).ownLines.map(\.moduleArguments)
        .filter { $0.configurationPath == path }.map { (service: service, methods: $0.methods) }
    }
  }

  /// Listed services that ask the phone: they have the module, and sshd's settings make it ask PAM.
  func asking() -> [String] {
    var names: [String] = []
    for (service, _) in askedMethods() where !names.contains(service) { names.append(service) }
    guard names.contains(SSHServer.usualService), case .settings(let settings) = SSHDaemon.settings() else {
      return names
    }
    let isAsked = settings.asksPAM && settings.service == SSHServer.usualService
    return names.filter { isAsked || $0 != SSHServer.usualService }
  }

  /// The account lines of each listed service with the module.
  func accountFindings() -> AccountFindings {
    AccountFindings(
      stacks: configuration.services.compactMap { service in
        guard let auth = try? reader.stack("auth", of: service),
          StackJudgement(service: service, auth: auth, session: []).hasModule,
          let account = try? reader.stack("account", of: service)
        else { return nil }
        return (service: service, account: account)
      })
  }

  /// The listed services that a security key alone opens.
  var servicesTakingKeys: [String] {
    configuration.services.filter { service in
      guard let auth = try? reader.stack("auth", of: service) else { return false }
      let stack = StackJudgement(service: service, auth: auth, session: [])
      return !stack.keyLines.isEmpty && stack.takesKeyAlone
    }
  }

  /// Findings about the listed greeters, which pass on a sealed password.
  func keyringFindings() -> [Finding] {
    let greeters = configuration.services.filter { DesktopServices.isGreeter($0) && reader.has($0) }
    let stacks = greeters.compactMap { service in
      (try? reader.stack("auth", of: service)).map { StackJudgement(service: service, auth: $0, session: []) }
    }
    return KeyringFindings(stacks: stacks, isListening: SystemChecks.isActive("iampass-keyring.socket")).findings
  }

  /// Services that have the module although they are neither usual nor listed. Services that authenticate nobody are
  /// left out.
  private func others() -> [StackJudgement] {
    let known = Set(lookedAt + ServiceTable.names(where: \.asksNobody))
    let names = reader.services(among: PAMFiles.names(in: folder)).filter { !known.contains($0) }
    return names.compactMap { name -> StackJudgement? in
      guard let auth = try? reader.stack("auth", of: name) else { return nil }
      return StackJudgement(service: name, auth: auth, session: [])
    }.filter(\.hasModule)
  }

  /// Findings about an unlisted service whose lines use this configuration.
  ///
  /// - Parameter refusing: the level of a service that lets nobody in. The file may not belong to a service.
  private func unlisted(_ stack: StackJudgement, refusing: Finding.Level) -> [Finding] {
    let goesByIt = stack.ownLines.contains { $0.moduleArguments.configurationPath == path }
    return goesByIt ? stack.findingsUnlisted(refusing: refusing) : []
  }

  private func judge(_ having: [StackJudgement], _ without: [String]) -> [Finding] {
    guard !having.isEmpty else {
      return [Finding(.warning, .pam, "no PAM service asks the phone", hint: "iampassctl enable")]
    }
    var findings: [Finding] = []
    let listed = Set(configuration.services)
    for stack in having where listed.contains(stack.service) {
      findings +=
        stack.findings(opensSession: opensSession(stack.service)) + stack.keyFindings() + arguments(stack)
    }
    var aside: [String] = []
    for stack in having where !listed.contains(stack.service) {
      let found = unlisted(stack, refusing: .problem)
      findings += found
      if found.isEmpty { aside.append(stack.service) }
    }
    if !aside.isEmpty {
      findings.append(
        Finding(.ok, .pam, "pam_iampass.so stands aside in \(aside.joined(separator: ", ")): not in services"))
    }
    for service in without where listed.contains(service) {
      findings.append(
        Finding(
          .warning, .pam, "\(service) is in services, but its PAM stack does not have pam_iampass.so",
          hint: "iampassctl enable, or add the line to \(folder)/\(service)"))
    }
    let password = without.filter { !listed.contains($0) }
    if !password.isEmpty {
      findings.append(Finding(.ok, .pam, "without the phone: \(password.joined(separator: ", "))"))
    }
    let asking = having.filter { listed.contains($0.service) }
    findings += KeyChecks(
      lines: asking.flatMap(\.keyLines), files: SecurityKeyFiles(folder: SecureFile.folder(of: path)),
      asking: asking.compactMap { stack in stack.keyHolders.map { (stack.service, $0) } }
    ).findings()
    findings += modules(having) + timeouts(having.filter { listed.contains($0.service) })
    return findings
  }

  private func arguments(_ stack: StackJudgement) -> [Finding] {
    stack.ownLines.flatMap { ModuleWords.findings($0, service: stack.service) }
      + stack.ownLines.map(\.moduleArguments.configurationPath).filter { $0 != path }.map { other in
        Finding(
          .warning, .pam, "\(stack.service): its line goes by \(other), not by \(path)",
          hint: "iampassctl check --config \(other)")
      }
  }

  /// Findings about the module's file, once for each path.
  private func modules(_ having: [StackJudgement]) -> [Finding] {
    Set(having.flatMap(\.ownLines).map(\.module)).sorted().map { module in
      guard let file = ModuleFile.find(module) else {
        return Finding(
          .problem, .pam, "\(module) is not in the folder of PAM modules: nobody is asked on the phone",
          hint: "apt install --reinstall libpam-iampass")
      }
      var found = stat()
      guard stat(file, &found) == 0, found.st_uid == 0, found.st_mode & 0o022 == 0 else {
        return Finding(
          .problem, .pam, "\(file) must be root's alone to write", hint: "apt install --reinstall libpam-iampass")
      }
      return Finding(.ok, .pam, "\(file): owner and mode are right")
    }
  }

  private func timeouts(_ stacks: [StackJudgement]) -> [Finding] {
    var findings: [Finding] = []
    func longest(_ stack: StackJudgement) -> Int64 {
      stack.timeouts.max() ?? configuration.approvalTimeout
    }
    if let login = stacks.first(where: { $0.service == "login" }) {
      let text = String(decoding: ProcessFile.read("/etc/login.defs", limit: 65_536) ?? [], as: UTF8.self)
      findings.append(LoginDefinitions.finding(limit: LoginDefinitions.timeout(text), timeout: longest(login)))
    }
    return findings + sshd(stacks, longest)
  }

  private func sshd(_ stacks: [StackJudgement], _ longest: (StackJudgement) -> Int64) -> [Finding] {
    let hasDropIn = change?.hasSSHDropIn ?? false
    let asking = stacks.map(\.service)
    let settings: SSHDSettings
    switch SSHDaemon.settings() {
    case .settings(let found): settings = hasDropIn ? found.withDropIn : found
    case .notInstalled: return []
    case .failed(let output): return asking.contains(SSHServer.usualService) ? [SSHDSettings.unreadable(output)] : []
    }
    let asked = stacks.first { $0.service == settings.service }
    guard asked != nil || asking.contains(SSHServer.usualService) else { return [] }
    var ringing: [String: String] = [:]
    for stack in stacks { ringing[stack.service] = stack.ringsForAnyPassword }
    let blocks = SSHDMatchFindings(general: settings, asking: asking, ringing: ringing, members: GroupMembers.known) {
      SSHDaemon.settings(connection: $0, withDropIn: hasDropIn)
    }
    guard let asked else { return settings.findings(asking: asking) + blocks.findings(SSHDMatchReader().look()) }
    var findings = settings.findings(timeout: longest(asked))
    findings += settings.passwordFindings(ringing: ringing[settings.service])
    if let passwords = settings.keyboardPasswordFinding(passwordOpens: asked.opens(.userUnknown, passwordRight: true)) {
      findings.append(passwords)
    }
    return findings + blocks.findings(SSHDMatchReader().look())
  }
}
