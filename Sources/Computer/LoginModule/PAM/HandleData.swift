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
  private let configurationPath: String
  private let owner = getpid()
  private var hasEnded = false
  /// Whether `open_session` has bound it to a logind session.
  var isOpen = false

  /// Whether the phone has approved it.
  var isPhones: Bool { remote != nil }

  init(remote: RemoteSession?, recordID: String?, configurationPath: String) {
    self.remote = remote
    self.recordID = recordID
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
