import Glibc

extension TransportError {
  /// No address took a connection. What counts is the last error, as of one address alone. An error of this computer's
  /// own is more: an address that could not be tried is not known to be down.
  ///
  /// - Parameter connectErrors: those of errno(3), in their order. Without any, no address was tried.
  package init(connectErrors: [Int32]) {
    // Without an IPv6 address of its own, a computer fails like this. It does not show whether the others fail.
    let telling = connectErrors.filter { $0 != EAFNOSUPPORT }
    let counted = telling.isEmpty ? connectErrors : telling
    guard let error = counted.first(where: { Code(connectError: $0) == .workerFailed }) ?? counted.last else {
      self.init(.workerFailed, detail: "no address was tried")
      return
    }
    self.init(Code(connectError: error), detail: String(cString: strerror(error)))
  }
}

extension TransportError.Code {
  /// - Parameter connectError: of connect(2), as errno(3) has it.
  package init(connectError: Int32) {
    self =
      switch connectError {
      case ECONNREFUSED, ECONNRESET: .connectionRefused
      case ETIMEDOUT: .connectTimedOut
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN: .networkUnreachable
      // Nothing was sent: a descriptor, a port or memory was missing.
      default: .workerFailed
      }
  }
}
