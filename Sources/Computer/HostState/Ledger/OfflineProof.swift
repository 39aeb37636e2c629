import HostSystem

/// The proof of a sign-in without the service.
public enum OfflineProof: Sendable, Equatable {
  /// A recovery code that is used up on the disk.
  case code(AcceptedCode)
  /// The digits of a trusted phone, noted on the disk.
  case phone(OfflineApproval)

  public var user: UnixUsername {
    switch self {
    case .code(let accepted): accepted.user
    case .phone(let approval): approval.user
    }
  }

  /// The phone; nil for a recovery code.
  var phone: ApprovingPhone? {
    switch self {
    case .code: nil
    case .phone(let approval): ApprovingPhone(approval.phone)
    }
  }

  /// The use that the session's record keeps.
  func use(at time: Int64) -> SessionRecord.OfflineUse {
    switch self {
    case .code(let accepted): .init(id: accepted.use, way: .recovery, time: time)
    case .phone(let approval): .init(id: approval.use, way: .phone, time: time)
    }
  }
}
