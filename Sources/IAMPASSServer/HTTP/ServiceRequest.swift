import IAMPASSProtocol

/// A request as received, whole; nothing in it is verified.
public struct ServiceRequest: Sendable {
  public let method: String
  /// Path and query, byte for byte as sent: signatures are over this.
  public let target: String
  /// From `:authority` or `Host`.
  public let authority: String?
  /// With their names in lower case: each is asked for many times.
  public let headers: [(name: String, value: String)]
  public let body: [UInt8]
  /// The numeric address that the connection came from, where it is known.
  public let peer: String?
  /// Calls back once the client has gone; for requests that are held.
  public let onDeparture: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Called once it is proven who asks.
  let onProof: @Sendable () -> Void

  public init(
    method: String, target: String, authority: String?, headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], peer: String? = nil,
    onDeparture: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { _ in },
    onProof: @escaping @Sendable () -> Void = {}
  ) {
    self.method = method
    self.target = target
    self.authority = authority
    self.headers = headers.map { ($0.name.lowercased(), $0.value) }
    self.body = body
    self.peer = peer
    self.onDeparture = onDeparture
    self.onProof = onProof
  }

  /// All values of headers with one of these names, ignoring case.
  func values(of names: [String]) -> [String] {
    let wanted = Set(names.map { $0.lowercased() })
    return headers.filter { wanted.contains($0.name) }.map(\.value)
  }

  /// The seconds of `Prefer: wait=N` (RFC 7240 §4.3); nil without a usable one.
  ///
  /// - Parameter longest: what the service allows; 0: nothing is held.
  func preferredWait(longest: Int64) -> Int64? {
    guard longest > 0 else { return nil }
    for preference in values(of: ["Prefer"]).flatMap({ $0.split(separator: ",") }) {
      let parts = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map {
        $0.trimming(" \t\"")
      }
      guard parts.count == 2, parts[0].lowercased() == "wait", let seconds = Int64(parts[1]), seconds > 0 else {
        continue
      }
      return min(seconds, longest)
    }
    return nil
  }
}

extension Substring {
  func trimming(_ unwanted: String) -> Substring {
    var text = drop { unwanted.contains($0) }
    while let last = text.last, unwanted.contains(last) { text.removeLast() }
    return text
  }
}

/// Why a request is not done: the `reason` of the reply.
public enum Reason: String, Sendable, CaseIterable {
  case badRequest = "BAD_REQUEST"
  case bodyTooLarge = "BODY_TOO_LARGE"
  /// The signed address names another body's digest.
  case wrongBody = "WRONG_BODY"
  case requestTooSlow = "REQUEST_TOO_SLOW"
  case notFound = "NOT_FOUND"
  case methodNotAllowed = "METHOD_NOT_ALLOWED"
  case storageUnavailable = "STORAGE_UNAVAILABLE"
  case stopping = "STOPPING"
  case tooManyFailures = "TOO_MANY_FAILURES"

  case authenticationMissing = "AUTHENTICATION_MISSING"
  case timestampMissing = "TIMESTAMP_MISSING"
  case timestampOutsideWindow = "TIMESTAMP_OUTSIDE_WINDOW"
  case signatureRefused = "SIGNATURE_REFUSED"
  case nonceReplayed = "NONCE_REPLAYED"
  case credentialRevoked = "CREDENTIAL_REVOKED"
  case hostMayNotManage = "HOST_MAY_NOT_MANAGE"

  case unknownApplication = "UNKNOWN_APPLICATION"
  case unknownUser = "UNKNOWN_USER"
  case unknownSession = "UNKNOWN_SESSION"
  case badUserID = "BAD_USER_ID"
  case noUsers = "NO_USERS"
  case noTextMessages = "SMS_NOT_CONFIGURED"
  case badPhoneNumber = "BAD_PHONE_NUMBER"
  case messageNotSent = "SMS_NOT_SENT"

  case notSignedIn = "NOT_SIGNED_IN"
  case badFormToken = "BAD_FORM_TOKEN"
  case unknownCredential = "UNKNOWN_CREDENTIAL"

  case noMobileDevice = "NO_MOBILE_DEVICE"
  case unknownMethod = "UNKNOWN_METHOD"
  case methodNotAvailable = "METHOD_NOT_AVAILABLE"
  case requestPending = "REQUEST_PENDING"
  case applicationDisabled = "APPLICATION_DISABLED"
  /// The application wants codes, and who asks would show none.
  case contextRequired = "CONTEXT_REQUIRED"
  case sourceBlocked = "SOURCE_BLOCKED"
  case tooManyDenials = "TOO_MANY_DENIALS"
  /// All codes that this request could have are shown, or were just now.
  case tooManyRequests = "TOO_MANY_REQUESTS"
  case badDuration = "BAD_DURATION"

  case unknownLink = "UNKNOWN_LINK"
  case linkUsed = "LINK_USED"
  case linkExpired = "LINK_EXPIRED"
  case hasMobileDevice = "HAS_MOBILE_DEVICE"
  case badPublicKey = "BAD_PUBLIC_KEY"
  case badCredential = "BAD_CREDENTIAL"
  case unknownDevice = "UNKNOWN_DEVICE"
  case deviceCutOff = "DEVICE_CUT_OFF"
  case wrongOrigin = "WRONG_ORIGIN"
  case unknownRequest = "UNKNOWN_REQUEST"
  case alreadyAnswered = "ALREADY_ANSWERED"
  case tooLate = "TOO_LATE"
  case answerTooLong = "ANSWER_TOO_LONG"
  case wrongContext = "WRONG_CONTEXT"
  case wrongNonce = "WRONG_NONCE"
  case wrongMethod = "WRONG_METHOD"
  case assertionMissing = "ASSERTION_MISSING"
  case assertionRefused = "ASSERTION_REFUSED"
  case codeMissing = "CODE_MISSING"
  case wrongCode = "WRONG_CODE"
  case badSubscription = "BAD_SUBSCRIPTION"
}

/// A reply: JSON, or a page's file, each whole; or a stream.
public struct ServiceReply: Sendable {
  public let status: Int
  public private(set) var headers: [(name: String, value: String)]
  public let body: [UInt8]
  /// What comes instead of a body for as long as there is news.
  let events: (any EventSource)?
  /// Of a refusal.
  let reason: Reason?

  /// JSON.
  init(_ status: Int, _ body: [UInt8], reason: Reason? = nil) {
    self.init(
      status, body,
      headers: [
        ("Content-Type", "application/json"),
        // Replies are about one moment and one client.
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
      ], reason: reason)
  }

  init(
    _ status: Int, _ body: [UInt8], headers: [(name: String, value: String)], events: (any EventSource)? = nil,
    reason: Reason? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.events = events
    self.reason = reason
  }

  /// Server-sent events.
  init(streaming events: any EventSource) {
    self.init(
      200, [],
      headers: [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        // A proxy that collects the stream would hold every request back.
        ("X-Accel-Buffering", "no"),
      ], events: events)
  }

  /// `{"status":false,"reason":…}`.
  public static func refused(_ status: Int, _ reason: Reason) -> ServiceReply {
    ServiceReply(status, AcknowledgementReply(done: false, reason: reason.rawValue).encoded(), reason: reason)
  }

  /// `{"status":true}`.
  static var done: ServiceReply { ServiceReply(200, AcknowledgementReply(done: true).encoded()) }

  /// With the mark in its body, for the signature to cover it.
  func marked(_ mark: ServiceMark) -> ServiceReply {
    ServiceReply(status, mark.added(to: body), headers: headers, events: events, reason: reason)
  }

  func adding(_ name: String, _ value: String) -> ServiceReply {
    var reply = self
    reply.headers.append((name, value))
    return reply
  }
}
