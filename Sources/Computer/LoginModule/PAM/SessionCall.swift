import CHost
import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// `pam_sm_open_session` and `pam_sm_close_session`: ⑦ binds the record of an approved sign-in to the logind session
/// that was opened for it, and ends the session at the service when the host closes it.
struct SessionCall {
  /// Carries the record's id, which is not a secret, from sshd's child to its parent, which removes it again. It may be
  /// lost or changed, so the ledger's record for this process has priority.
  static let variable = "IAMPASS_SESSION"

  /// The greatest length of a line in characters. A reason may have a path.
  private static let greatestLine = 400

  let host: PAMHost
  let words: [String]

  /// PAM_SUCCESS if there was no sign-in by phone, or if the session need not be watched.
  func open() -> Int32 {
    let service = host.service
    guard ServiceTable.opensSession(service) else { return PAM_SUCCESS }
    let code = bound(service)
    if code == PAM_SUCCESS { sealKeyring() }
    return code
  }

  private func bound(_ service: String) -> Int32 {
    let handedOver = SSHServer.calls(service) ? host.environment(Self.variable) : nil
    if handedOver != nil { host.removeEnvironment(Self.variable) }
    if let kept = host.kept(KeptSession.name, as: KeptSession.self) {
      do throws(Misconfiguration) {
        guard try setup().configuration.opensSession(service) else { return PAM_SUCCESS }
      } catch { return fail(error.explanation, kept) }
      guard let id = kept.recordID else { return fail("no record of this sign-in", kept) }
      return bind(id, service, kept)
    }
    let waiting: String?
    do { waiting = try waitingRecord(service) } catch {
      // A damaged disk or a folder that others may write must not lock everybody out, root and passwords included.
      // Sign-ins by phone fail by the same cause, so that this session has hardly been opened by one.
      guard handedOver == nil, case .file(let file) = error, file.isTheMachines else {
        return fail(error.explanation, nil)
      }
      host.log(LOG_ERR, "not known whether a phone opens this session, which is not watched: \(error.explanation)")
      return PAM_SUCCESS
    }
    guard let id = waiting ?? handedOver else { return PAM_SUCCESS }
    return bind(id, service, nil)
  }

  /// The id of the record that waits for this process, if PAM's data and environment were lost; nil if none waits.
  private func waitingRecord(_ service: String) throws(LedgerError) -> String? {
    // Only root's processes have records, and logind opens sessions only for them.
    guard geteuid() == 0 else { return nil }
    let setup: HostSetup
    do { setup = try HostSetup(path: ModuleArguments(reading: words).configurationPath) } catch {
      // With a file that is missing, invalid or not readable for this program, there are no sign-ins by phone. A file
      // that cannot be read just now does not show that.
      guard let file = error.file, case .system(let number) = file.code, number != EACCES else { return nil }
      throw .file(file)
    }
    return try setup.ledger.waitingRecord(service)
  }

  /// Closes the session. It never fails, whatever the service says.
  func close() -> Int32 {
    guard ServiceTable.opensSession(host.service),
      let kept = host.kept(KeptSession.name, as: KeptSession.self)
    else { return PAM_SUCCESS }
    // The helper ends sign-ins without a session, such as sudo's, once their process has ended.
    if let setup = try? setup(), !setup.configuration.opensSession(host.service) { return PAM_SUCCESS }
    kept.end(for: host)
    return PAM_SUCCESS
  }

  /// Ends the request of a locked screen that GDM opened: GDM renews the credentials of the present session, and does
  /// not open another. A session that was opened on this handle stays.
  func unlock() -> Int32 {
    guard DesktopServices.isGDM(host.service),
      let kept = host.kept(KeptSession.name, as: KeptSession.self), !kept.isOpen
    else { return PAM_SUCCESS }
    kept.end(for: host)
    // A recovery code does not show that the phone is near.
    if kept.isPhones { settleLocks() }
    return PAM_SUCCESS
  }

  /// Removes the lock notes, because the phone has approved. The user's screen is locked and unlocked as before from
  /// now on.
  private func settleLocks() {
    guard let name = host.userBytes, let setup = try? setup() else { return }
    let found: SystemUser?
    do { found = try SystemUser.find(spelled: name) } catch {
      return host.log(LOG_WARNING, "notes of locks not removed: \(error.explanation)")
    }
    guard let user = found else { return }
    let caller = UnlockRule.Caller.root(seat: host.environment("XDG_SEAT"))
    let own = LogindSession.all().filter { $0.isInFront(of: user.uid) && caller.belongs(to: $0) }
    for error in setup.awayLocks.forget(own) {
      host.log(LOG_WARNING, "note of a lock not removed: \(error.explanation)")
    }
  }

  private func bind(_ id: String, _ service: String, _ kept: KeptSession?) -> Int32 {
    do {
      let setup = try setup()
      guard host.user() != nil, let name = host.userBytes, let user = try SystemUser.find(spelled: name)?.name,
        let claimer = ProcessIdentity.current()
      else { return fail("no user", kept) }
      let binding = SessionRecord.Binding(logindSession: host.environment("XDG_SESSION_ID") ?? "", leader: claimer)
      // The stack has a second line of this module. A failure would end the session that the first one has bound.
      if kept?.isOpen == true, try setup.ledger.isBound(id, user: user, service: service, to: binding) {
        return PAM_SUCCESS
      }
      let record = try setup.ledger.claim(id, user: user, service: service, by: claimer)
      guard let session = LogindSession(id: binding.logindSession),
        binding.matches(session, of: record.uid, leader: .mustRun)
      else {
        return fail("logind has no session of this process (is the line after pam_systemd's?)", kept, record, setup)
      }
      try setup.ledger.bind(id, to: binding)
      return keep(record, kept, setup, session.id)
    } catch let error as Misconfiguration { return fail(error.explanation, kept) } catch let error as LedgerError {
      return fail(error.explanation, kept)
    } catch let error as UserLookupError { return fail(error.explanation, kept) } catch {
      return fail("record cannot be used", kept)
    }
  }

  private func keep(_ record: SessionRecord, _ kept: KeptSession?, _ setup: HostSetup, _ session: String) -> Int32 {
    if kept == nil {
      guard let mine = keptSession(record, setup), KeptSession.keep(mine, with: host) else {
        return fail("record \(record.id) cannot be kept", kept, record, setup)
      }
    }
    host.kept(KeptSession.name, as: KeptSession.self)?.isOpen = true
    let user = LogField.text("user", record.user.text)
    host.log(LOG_DEBUG, "session opened \(user) session=\(record.publicName) logind_session=\(session)")
    return PAM_SUCCESS
  }

  /// Refuses a session that cannot be watched, and ends it at the service. A second try of the host is also refused.
  private func fail(
    _ reason: String, _ kept: KeptSession?, _ record: SessionRecord? = nil, _ setup: HostSetup? = nil
  ) -> Int32 {
    host.log(LOG_ERR, "session refused: \(reason)")
    let line = "IAMPASS: refused: this session could not be watched: \(reason)"
    iampass_pam_say(host.handle, PAM_ERROR_MSG, DisplayText.sanitized(line, limit: Self.greatestLine))
    let ending = kept ?? setup.flatMap { setup in record.flatMap { keptSession($0, setup) } }
    ending?.end(for: host, stillWaits: true)
    return PAM_SESSION_ERR
  }

  private func keptSession(_ record: SessionRecord, _ setup: HostSetup) -> KeptSession? {
    if record.isOffline {
      return KeptSession(remote: nil, recordID: record.id, configurationPath: setup.configurationPath)
    }
    guard let settings = try? setup.serviceSettings(), let remote = try? record.remoteSession(settings) else {
      return nil
    }
    return KeptSession(remote: remote, recordID: record.id, configurationPath: setup.configurationPath)
  }

  private func setup() throws(Misconfiguration) -> HostSetup {
    try HostSetup(path: try ModuleArguments(words).configurationPath)
  }
}
