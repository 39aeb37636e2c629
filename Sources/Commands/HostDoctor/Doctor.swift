import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import PAMStacks
import WorkerLink

/// What `enable` is about to change.
public struct PlannedChange {
  /// Nil: `services` stays as it is.
  let services: [String]?
  /// Whether sshd gets the configuration file that makes it ask PAM.
  let hasSSHDropIn: Bool
  /// A profile that is not switched on yet; nil: security keys stay as they are.
  let securityKey: SecurityKeyProfile?

  public init(services: [String]?, hasSSHDropIn: Bool, securityKey: SecurityKeyProfile?) {
    self.services = services
    self.hasSSHDropIn = hasSSHDropIn
    self.securityKey = securityKey
  }
}

/// Examines this computer and reports problems. It changes nothing.
public struct Doctor {
  let place: SetupPlace
  let pamFolder: String
  /// A change that is judged as if it were already made.
  let change: PlannedChange?

  /// - Parameters:
  ///   - pamFolder: PAM's folder, such as `/etc/pam.d`.
  ///   - change: a change that is judged as if it were already made.
  public init(place: SetupPlace, pamFolder: String, change: PlannedChange? = nil) {
    self.place = place
    self.pamFolder = pamFolder
    self.change = change
  }

  /// The whole report.
  public func look() -> CheckReport {
    var report = CheckReport()
    let source = (try? Configuration(path: place.configuration))?.users ?? .file
    report.add(FileChecks(place: place, hasUsersFile: source == .file).findings())
    let setup = setUp(&report)
    if let setup { report.add(FileChecks.findings(of: setup.configuration)) }
    let service = setup.flatMap { ServiceChecks(setup: $0) }
    report.add(service?.findings() ?? [])
    if let setup { report.add(pageFindings(setup)) }
    let configuration = plannedConfiguration(setup)
    let reader = PAMReader(folder: pamFolder)
    report.add(SystemChecks.findings(configuration.services.filter { reader.has($0) }))
    let pam = pamChecks(configuration)
    report.add(pam.findings())
    // `enable` itself restores these lines.
    if change == nil {
      report.add(LostLineFindings.findings(configuration, pamFolder: pamFolder))
      report.add(HalfSwitchedOff.findings(of: place, pamFolder: pamFolder))
    }
    let accounts = pam.accountFindings()
    report.add(accounts.findings)
    // `enable` itself starts the sockets of the services that it lists.
    if change == nil {
      report.add(SystemChecks.brokerFindings(configuration.servicesThatMayAsk.filter { reader.has($0) }))
    }
    if configuration.keyring == .sealed, change == nil { report.add(pam.keyringFindings()) }
    report.add(SealedPasswordChecks(path: place.configuration)?.findings() ?? [])
    let hasLightLocker = LightLocker.isUsed(hasGreeter: reader.has(LightLocker.greeter))
    if hasLightLocker { report.add([LightLocker.finding(configuration)]) }
    report.add(
      LockFindings(
        configuration: configuration,
        services: (DesktopServices.all + DesktopServices.untriedLockers).filter { reader.has($0) },
        hasLightLocker: hasLightLocker
      ).findings)
    if let finding = EmptyPasswordFinding.finding(configuration.servicesThatMayAsk.filter { reader.has($0) }) {
      report.add([finding])
    }
    if let finding = LockGraceFinding.finding(DesktopServices.all.filter { reader.has($0) }) { report.add(finding) }
    report.add(ReloginFindings.findings(DesktopServices.all.filter { reader.has($0) }))
    report.add(
      UserChecks(usersPath: place.users, sharing: configuration.sharedTokens, service: service, accounts: accounts)
        .findings())
    if let setup, source == .service {
      report.add(ServiceUserFindings.findings(setup))
      report.add(SignedListFindings.findings(setup, service))
    }
    report.add(
      PinChecks(
        path: place.phones, usersPath: place.users, listed: source == .service ? setup?.serviceUsers : nil,
        isVerified: configuration.approvals == .verified,
        asking: pam.askedMethods(), service: service
      ).findings())
    report.add(
      OfflineChecks(
        configuration: configuration, codes: RecoveryCodes(state: RunFolder(path: configuration.stateFolder)),
        phones: configuration.approvals == .verified
          ? OfflinePhones(
            state: RunFolder(path: configuration.stateFolder), pins: place.phones, service: setup?.servicePhones) : nil,
        services: configuration.services.filter { reader.has($0) }, usersPath: place.users,
        pageDigestsPath: place.pageDigests, takingKeys: pam.servicesTakingKeys
      ).findings())
    report.add(SystemChecks.presenceFindings(of: place, isOn: configuration.presence == .bluetooth))
    report.add(SessionChecks(configuration: configuration).findings())
    return report
  }

  /// Findings about jumps in an administrator's own lines. Reads only PAM's files.
  public func jumpFindings() -> [Finding] { pamChecks(plannedConfiguration(nil)).jumpFindings() }

  /// Without a server it still has the list of services.
  private func plannedConfiguration(_ setup: HostSetup?) -> Configuration {
    var configuration = setup?.configuration ?? (try? Configuration(path: place.configuration)) ?? Configuration()
    if let services = change?.services { configuration.services = services }
    return configuration
  }

  private func pamChecks(_ configuration: Configuration) -> PAMChecks {
    PAMChecks(
      folder: pamFolder, configuration: configuration, path: place.configuration, change: change,
      sudoers: Sudoers.settings())
  }

  private func pageFindings(_ setup: HostSetup) -> [Finding] {
    // If the server or its certificate authority is missing, that was reported before.
    guard let server = setup.configuration.server, let transport = try? setup.transport(interruption: nil) else {
      return []
    }
    return PageChecks(path: place.pageDigests, server: server, transport: transport).findings()
  }

  /// Nil if the files are not enough to reach a service. The reason is in the report.
  private func setUp(_ report: inout CheckReport) -> HostSetup? {
    do throws(Misconfiguration) {
      let setup = try HostSetup(path: place.configuration)
      report.add(configurationFindings(setup.configuration))
      _ = try setup.serviceSettings()
      return setup
    } catch {
      // Errors of the file itself are reported with the files.
      if case .configuration(.keyValue(.file), _) = error { return nil }
      if error == .noServer, access(place.configuration, F_OK) != 0 { return nil }
      report.add(
        error == .noServer
          ? Finding(
            .problem, .configuration, "\(place.configuration): server is not set", hint: "iampassctl setup")
          : Finding(.problem, .configuration, error.explanation, hint: error.hint))
      return nil
    }
  }

  private func configurationFindings(_ configuration: Configuration) -> [Finding] {
    var findings = configuration.unknownKeys.map {
      Finding(
        .warning, .configuration, "\(place.configuration): unknown key \($0)", hint: "check its spelling, or remove it")
    }
    if configuration.approvals == .verified, configuration.sendContext == .no {
      let error = Misconfiguration.verifiedWithoutContext
      findings.append(Finding(.problem, .configuration, error.explanation, hint: error.hint))
    }
    if findings.isEmpty { findings.append(Finding(.ok, .configuration, "\(place.configuration) is understood")) }
    return findings
  }
}

/// Checks owners and modes of files.
struct FileChecks {
  let place: SetupPlace
  /// Whether users are in a file here. Otherwise the file may be missing.
  let hasUsersFile: Bool

  func findings() -> [Finding] {
    let files = [
      secureFile(place.configuration, .readableByAll, limit: 64 * 1024, whenMissing: .problem, "iampassctl setup"),
      secureFile(place.credentials, .secret, limit: 64 * 1024, whenMissing: .problem, "iampassctl setup"),
    ]
    let users = secureFile(
      place.users, .secret, limit: UserTokens.greatestSize, whenMissing: .warning, "iampassctl user add NAME")
    let isNeeded = hasUsersFile || access(place.users, F_OK) == 0
    return files + (isNeeded ? [users] : []) + UnfinishedChange.findings(of: place)
      + SecretCopies.findings(in: place.folder)
  }

  static func findings(of configuration: Configuration) -> [Finding] {
    var findings = [worker(configuration.worker), workerUser(configuration.workerUser)]
    if let path = configuration.caFile {
      findings.append(authorities(path))
    }
    var found = stat()
    if lstat(configuration.runFolder, &found) == 0 {
      let isOwn = found.st_mode & S_IFMT == S_IFDIR && found.st_uid == 0 && found.st_mode & 0o077 == 0
      findings.append(
        isOwn
          ? Finding(.ok, .files, "\(configuration.runFolder) is root's alone")
          : Finding(
            .problem, .files, "\(configuration.runFolder) is not root's alone: nobody can sign in by phone",
            hint: ownedByRoot(configuration.runFolder, mode: "700")
              ?? "set run_dir to a folder of its own, which only root can look into"))
    }
    return findings
  }

  private func secureFile(
    _ path: String, _ privacy: SecureFile.Privacy, limit: Int, whenMissing: Finding.Level, _ hint: String
  ) -> Finding {
    Self.look(path, privacy, limit: limit, whenMissing: whenMissing, hint)
  }

  private static func look(
    _ path: String, _ privacy: SecureFile.Privacy, limit: Int, whenMissing: Finding.Level, _ hint: String?
  ) -> Finding {
    do throws(FileError) {
      _ = try SecureFile.read(path, privacy: privacy, limit: limit)
      return Finding(.ok, .files, "\(path): owner and mode are right")
    } catch {
      let level = error.code == .missing ? whenMissing : .problem
      return Finding(level, .files, error.explanation, hint: error.hint ?? hint)
    }
  }

  private static func authorities(_ path: String) -> Finding {
    do throws(FileError) {
      _ = try CertificateBundle(path: path)
      return Finding(.ok, .files, "\(path): owner and mode are right")
    } catch {
      let hint = "write the PEM certificate of the service's authority into it, or set another ca_file"
      return Finding(.problem, .files, error.explanation, hint: error.hint ?? hint)
    }
  }

  /// The repairing command; nil if the file or folder is not this product's own.
  private static func ownedByRoot(_ path: String, mode: String) -> String? {
    guard let owner = MendingCommand.text("chown root:root", path),
      let mode = MendingCommand.text("chmod \(mode)", path)
    else { return nil }
    return "\(owner); \(mode)"
  }

  private static let ownWorker = "set worker to \(Configuration().worker)"

  /// Checks what WorkerProcess checks at each sign-in.
  private static func worker(_ path: String) -> Finding {
    var found = stat()
    guard stat(path, &found) == 0 else {
      return Finding(
        .problem, .files, "\(path) is missing: the service cannot be asked",
        hint: "apt install --reinstall libpam-iampass")
    }
    guard found.st_uid == 0, found.st_mode & 0o022 == 0, found.st_mode & 0o111 != 0 else {
      return Finding(
        .problem, .files, "\(path) must be root's alone to write, and executable",
        hint: ownedByRoot(path, mode: "711") ?? ownWorker)
    }
    // A user who can read a program can inspect its process as it starts.
    guard found.st_mode & 0o044 == 0 else {
      return Finding(
        .warning, .files, "\(path) is readable by others: no worker waits with it, and each sign-in starts its own",
        hint: MendingCommand.text("chmod 711", path) ?? ownWorker)
    }
    return Finding(.ok, .files, "\(path): owner and mode are right")
  }

  private static func workerUser(_ name: String) -> Finding {
    let found: SystemUser?
    do {
      found = try UnixUsername(validating: name).flatMap { (name) throws(UserLookupError) in
        try SystemUser.find(named: name)
      }
    } catch {
      return Finding(.problem, .files, "user \(name), which the worker becomes, is not found: \(error.explanation)")
    }
    guard let user = found, user.uid != 0 else {
      return Finding(
        .problem, .files, "user \(name), which the worker becomes, is not there",
        hint: "adduser --system --group --no-create-home \(name)")
    }
    return Finding(.ok, .files, "user \(name), which the worker becomes, is there")
  }
}
