import AsyncHTTPClient
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import WorkerLink

extension TransportError {
  /// Translates an error of the libraries. After an unknown error the request may have arrived: `connectionLost`.
  init(_ error: any Error) {
    let detail = "\(error)"
    switch error {
    case let error as HTTPClientError: self.init(Self.code(of: error), detail: detail)
    case let error as NIOConnectionError: self.init(Self.code(of: error), detail: detail)
    // Only connect(2) fails like this: nothing was sent.
    case let error as IOError where error.errnoCode == ECONNREFUSED: self.init(.connectionRefused, detail: detail)
    case let error as NIOSSLError: self.init(Self.code(of: error), detail: detail)
    case is NIOSSLExtraError: self.init(.certificateForAnotherHost, detail: detail)
    case is ResponseAccumulator.ResponseTooBigError: self.init(.replyTooLarge, detail: detail)
    default: self.init(.connectionLost, detail: detail)
    }
  }

  private static func code(of error: HTTPClientError) -> Code {
    switch error {
    case .connectTimeout: .connectTimedOut
    case .tlsHandshakeTimeout: .tlsTimedOut
    case .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout: .silent
    default: .connectionLost
    }
  }

  private static func code(of error: NIOConnectionError) -> Code {
    // No address: the name was not found.
    guard let last = error.connectionErrors.last else { return .nameNotFound }
    guard let failure = last.error as? IOError else { return .connectTimedOut }
    switch failure.errnoCode {
    case ECONNREFUSED: return .connectionRefused
    case ENETUNREACH, EHOSTUNREACH: return .networkUnreachable
    default: return .connectTimedOut
    }
  }

  private static func code(of error: NIOSSLError) -> Code {
    switch error {
    case .handshakeFailed(let reason):
      "\(reason)".contains("CERTIFICATE_VERIFY_FAILED") ? .certificateUntrusted : .tlsRefused
    default: .connectionLost
    }
  }
}
