import GRDB

extension StorageTrouble {
  init(_ error: any Error) {
    switch error {
    case let error as DatabaseError:
      switch error.resultCode {
      // Only triggers of a moved database raise this error.
      case .SQLITE_CONSTRAINT where error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER: self = .moved
      case .SQLITE_FULL: self = .full
      case .SQLITE_BUSY, .SQLITE_LOCKED: self = .locked
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged
      default: self = .other
      }
    case is DamagedRow: self = .damaged
    case is StorageBusy: self = .busy
    case let fault as SealFault: self = .sealed(fault)
    default: self = .other
    }
  }
}
