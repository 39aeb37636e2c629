import Glibc
import Testing
import WorkerLink

struct ConnectErrorsTests {
  /// What libcurl also reports if memory or a descriptor is missing.
  private static let lacking: [TransportError.Code] = [.nameNotFound, .connectionRefused, .tlsRefused]

  @Test func theLastAddressesErrorCounts() {
    #expect(TransportError(connectErrors: [ECONNREFUSED, ETIMEDOUT]).code == .connectTimedOut)
    #expect(TransportError(connectErrors: [ETIMEDOUT, ECONNREFUSED]).code == .connectionRefused)
    #expect(TransportError(connectErrors: [ECONNREFUSED, EHOSTUNREACH]).code == .networkUnreachable)
  }

  /// Anyone on this computer can use up its ports, and must not make an outage of that.
  @Test(arguments: [EADDRNOTAVAIL, EMFILE, ENOMEM, EPERM, EACCES, ENOSYS, EAGAIN, EISCONN])
  func anAddressThatThisComputerCouldNotTryIsNotKnownToBeDown(_ error: Int32) {
    for errors in [[error], [error, ECONNREFUSED], [ECONNREFUSED, error, ETIMEDOUT], [EAFNOSUPPORT, error]] {
      #expect(TransportError(connectErrors: errors).code == .workerFailed, "\(errors)")
    }
  }

  @Test func aFamilyThatThisComputerLacksSaysNothingOfTheOther() {
    #expect(TransportError(connectErrors: [EAFNOSUPPORT, ECONNREFUSED, EAFNOSUPPORT]).code == .connectionRefused)
    #expect(TransportError(connectErrors: [EAFNOSUPPORT]).code == .workerFailed)
  }

  @Test func withoutAnyAddressNothingIsKnown() {
    #expect(TransportError(connectErrors: []).code == .workerFailed)
  }

  /// A caller of su sets its limits, and must not make an outage of that.
  @Test func aLackOfMemoryUnderLowLimitsDoesNotCountAsAnOutage() {
    for code in Self.lacking {
      let error = TransportError(code, detail: "Could not resolve host: iam.example").underLowLimits
      #expect(error.code == .workerFailed)
      #expect(error.detail == "under low limits: Could not resolve host: iam.example")
    }
  }

  @Test func everyOtherErrorIsTheSameUnderLowLimits() {
    for code in TransportError.Code.allCases where !Self.lacking.contains(code) {
      let error = TransportError(code, detail: "Timeout was reached")
      #expect(error.underLowLimits == error)
    }
  }
}
