import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient

/// The ending of an attempt on this handle, with its user: login reuses the handle for the next name.
final class KeptEnding {
  static let name = "iampass_ending"

  let user: String
  /// What later calls for this user return.
  let laterCode: Int32

  init(user: String, laterCode: Int32) {
    self.user = user
    self.laterCode = laterCode
  }

  static func keep(_ ending: KeptEnding, with host: PAMHost) -> Bool {
    host.keep(ending, as: name) { _, data, _ in
      // SAFETY: `keep` retained this object once; libpam calls the clean-up once for it.
      if let data { Unmanaged<KeptEnding>.fromOpaque(data).release() }
    }
  }
}

/// A session that the phone, or a recovery code, opened through this handle, and that ends with the handle.
final class KeptSession {
  static let name = "iampass_session"
  /// The longest time to tell the service of the end, in milliseconds, so that logging out is fast.
  private static let endMilliseconds: Int64 = 2_000

  /// The service session; nil if the service does not know of it.
  let remote: RemoteSession?
  let recordID: String?
  /// PAM_USER of the approval, byte by byte; nil for a session that was bound without PAM's data.
  private let user: [UInt8]?
  /// The words of the line that was approved.
  private let line: [String]
  private let configurationPath: String
  private let owner = getpid()
  private var hasEnded = false
  /// Whether `open_session` has bound it to a logind session.
  var isOpen = false

  /// Whether the phone has approved it.
  var isPhones: Bool { remote != nil }

  init(
    remote: RemoteSession?, recordID: String?, user: [UInt8]? = nil, line: [String] = [], configurationPath: String
  ) {
    self.remote = remote
    self.recordID = recordID
    self.user = user
    self.line = line
    self.configurationPath = configurationPath
  }

  static func keep(_ session: KeptSession, with host: PAMHost) -> Bool {
    host.keep(session, as: name) { handle, data, status in
      guard let data else { return }
      // SAFETY: `keep` retained this object once; libpam calls the clean-up once for it.
      let session = Unmanaged<KeptSession>.fromOpaque(data).takeRetainedValue()
      // pam_set_data also calls this for replaced data.
      guard let handle, status & PAM_DATA_REPLACE == 0 else { return }
      // A child that authenticated also ends its handle. After success, its parent must not open an unwatched session.
      let hasSucceeded = status & ~PAM_DATA_SILENT == PAM_SUCCESS
      session.end(for: PAMHost(handle: handle), stillWaits: hasSucceeded)
    }
  }

  /// Ends the session once. The helper tells the service, so that logging out is fast. Without a helper this process
  /// does.
  ///
  /// login and su run the clean-up in the user's own child: only the process that authenticated may end it.
  ///
  /// - Parameter stillWaits: whether the host may still open a session, which is then refused.
  func end(for host: PAMHost, stillWaits: Bool = false) {
    guard getpid() == owner, !hasEnded else { return }
    hasEnded = true
    do throws(Misconfiguration) {
      let setup = try HostSetup(path: configurationPath)
      if let recordID, !stillWaits { setup.ledger.stopWaiting(recordID) }
      if isHandedOver(setup, host) { return }
      guard let remote else { return forgetRecord(setup, host) }
      let service = try setup.service(as: try setup.credential(), interruption: nil)
      do throws(ServiceError) {
        try service.end(remote, deadline: MonotonicInstant.now().advanced(milliseconds: Self.endMilliseconds))
        forgetRecord(setup, host)
      } catch { host.log(LOG_WARNING, "session not ended at the service: \(error.explanation)") }
    } catch { host.log(LOG_WARNING, "session not ended at the service: \(error.explanation)") }
  }

  /// Ends the session of another user than the present one, and removes it from the handle. A later module has refused
  /// that user, so that the host asks for the next name on the same handle, as login does. That session would keep the
  /// next user out: it can only be bound to its own.
  ///
  /// Within one pass through the stack it stays, and the host's session is then refused: a module may have changed the
  /// name of the user whom the phone has approved. Each line is called once in a pass. So the pass is a later one if
  /// the approved line is called again.
  ///
  /// - Parameter line: the words of the line that is called.
  static func endOfAnotherUser(_ host: PAMHost, line: [String]) {
    guard let kept = host.kept(name, as: KeptSession.self), !kept.isOpen, kept.owner == getpid(), kept.line == line,
      let approved = kept.user, host.user() != nil, let user = host.userBytes, user != approved
    else { return }
    kept.end(for: host)
    host.forget(name)
  }

  /// Marks the record as closed, which a later helper finds.
  private func isHandedOver(_ setup: HostSetup, _ host: PAMHost) -> Bool {
    guard let recordID else { return false }
    do { try setup.ledger.release(recordID) } catch .file(let error) where error.code == .missing {
      // The helper already knows that this record has ended, or that a renewal has replaced it.
      return setup.helper.isThere
    } catch {
      host.log(LOG_WARNING, "record \(recordID) not marked as closed: \(error.explanation)")
      return false
    }
    return setup.helper.isThere
  }

  private func forgetRecord(_ setup: HostSetup, _ host: PAMHost) {
    guard let recordID else { return }
    do { try setup.ledger.remove(recordID) } catch {
      host.log(LOG_WARNING, "record \(recordID) not removed: \(error.explanation)")
    }
  }
}
