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
  /// Carries the record's id, never a secret, from sshd's child to its parent, which takes it out again.
  static let variable = "IAMPASS_SESSION"

  let host: PAMHost
  let words: [String]

  /// PAM_SUCCESS if nobody signed in by phone, or the session needs no watching.
  func open() -> Int32 {
    let service = host.service
    guard !UnwatchedServices.contains(service) else { return PAM_SUCCESS }
    let code = bound(service)
    if code == PAM_SUCCESS { sealKeyring() }
    return code
  }

  private func bound(_ service: String) -> Int32 {
    let kept = host.kept(KeptSession.name, as: KeptSession.self)
    let handedOver = service == "sshd" ? host.environment(Self.variable) : nil
    if handedOver != nil { host.removeEnvironment(Self.variable) }
    guard kept != nil || handedOver != nil else { return PAM_SUCCESS }
    guard let id = handedOver ?? kept?.recordID else { return fail("no record of this sign-in", kept) }
    return bind(id, service, kept)
  }

  /// Never fails: the session is over, whatever the service says.
  func close() -> Int32 {
    guard !UnwatchedServices.contains(host.service),
      let kept = host.kept(KeptSession.name, as: KeptSession.self)
    else { return PAM_SUCCESS }
    kept.end(for: host)
    return PAM_SUCCESS
  }

  /// Ends the request of a locked screen that GDM opened: GDM renews the credentials of the session that is there, and
  /// opens no other. A session that was opened on this handle stays.
  func unlock() -> Int32 {
    guard DesktopServices.isGDM(host.service),
      let kept = host.kept(KeptSession.name, as: KeptSession.self), !kept.isOpen
    else { return PAM_SUCCESS }
    kept.end(for: host)
    // A recovery code says nothing about the phone.
    if kept.isPhones { settleLocks() }
    return PAM_SUCCESS
  }

  /// The phone has approved: from now on the user's screen is locked and unlocked as before.
  private func settleLocks() {
    guard let name = host.item(PAM_USER).flatMap({ UnixUsername(validating: $0) }), let user = SystemUser(named: name),
      let setup = try? setup()
    else { return }
    let caller = UnlockRule.Caller.root(seat: host.environment("XDG_SEAT"))
    let own = LogindSession.all().filter { $0.isInFront(of: user.uid) && caller.belongs(to: $0) }
    for error in setup.awayLocks.forget(own) {
      host.log(LOG_WARNING, "note of a lock not removed: \(error.explanation)")
    }
  }

  private func bind(_ id: String, _ service: String, _ kept: KeptSession?) -> Int32 {
    do {
      let setup = try setup()
      guard let user = host.user().flatMap({ UnixUsername(validating: $0) }).flatMap({ SystemUser(named: $0)?.name }),
        let claimer = ProcessIdentity.current()
      else { return fail("no user", kept) }
      let record = try setup.ledger.claim(id, user: user, service: service, by: claimer)
      let binding = SessionRecord.Binding(logindSession: host.environment("XDG_SESSION_ID") ?? "", leader: claimer)
      guard let session = LogindSession(id: binding.logindSession),
        binding.matches(session, of: record.uid, leader: .mustRun)
      else {
        return fail("logind has no session of this process (is the line after pam_systemd's?)", kept, record, setup)
      }
      try setup.ledger.bind(id, to: binding)
      return keep(record, kept, setup, session.id)
    } catch let error as Misconfiguration { return fail(error.explanation, kept) } catch let error as LedgerError {
      return fail(error.explanation, kept)
    } catch { return fail("record cannot be used", kept) }
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

  /// A session that cannot be watched is refused, and ended at the service too.
  private func fail(
    _ reason: String, _ kept: KeptSession?, _ record: SessionRecord? = nil, _ setup: HostSetup? = nil
  ) -> Int32 {
    host.log(LOG_ERR, "session refused: \(reason)")
    let ending = kept ?? setup.flatMap { setup in record.flatMap { keptSession($0, setup) } }
    ending?.end(for: host)
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
