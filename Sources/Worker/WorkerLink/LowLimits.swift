extension TransportError {
  /// This error of libcurl as it counts in a worker whose starter had lower limits than the worker sets itself. A name
  /// lookup, a handshake or its beginning that lacks memory or a descriptor fails as during an outage, and does not say
  /// why. A caller of su sets its limits, and must not make an outage of them. Errors of connect(2) say why: see
  /// ``init(connectErrors:)``.
  package var underLowLimits: TransportError {
    switch code {
    case .nameNotFound, .connectionRefused, .tlsRefused:
      TransportError(.workerFailed, detail: "under low limits: \(detail)")
    // These come from a clock, from the route or from the peer.
    case .nameLookupTimedOut, .connectTimedOut, .networkUnreachable, .tlsTimedOut, .tlsTooOld,
      .certificateExpired, .certificateNotYetValid, .certificateForAnotherHost, .certificateUntrusted, .silent,
      .connectionLost, .replyTooLarge, .notHTTP, .workerFailed, .workerDied, .interrupted:
      self
    }
  }
}
