import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// Answers each request by its path, and by whether the application's secret signed the request.
private final class ServiceOfWords: HTTPTransport {
  static let secret = "abcdefghijklmnopqrstuvwx"
  static let now: Int64 = 784_111_777

  private let answer: (_ url: String, _ isSigned: Bool) -> Int
  private let scheme: SigningScheme
  private let signsReplies: Bool
  private let date: String
  private(set) var asked: [String] = []

  init(
    scheme: SigningScheme = .documented, signsReplies: Bool = false, date: String = "Sun, 06 Nov 1994 08:49:37 GMT",
    answer: @escaping (_ url: String, _ isSigned: Bool) -> Int
  ) {
    self.scheme = scheme
    self.signsReplies = signsReplies
    self.date = date
    self.answer = answer
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    asked.append(request.url)
    func value(_ name: String) -> String? { request.headers.first { $0.name == name }?.value }
    let authentication = value(Dialect.authenticationHeader).flatMap { UnverifiedAuthentication(header: $0) }
    let signer = try? RequestSigner(clientID: "app", secret: Secret(Self.secret), scheme: scheme)
    let isSigned =
      signer.map { signer in
        authentication?.isMade(by: signer, timestamp: String(Self.now), uri: request.url) ?? false
      } ?? false
    let status = answer(request.url, isSigned)
    var headers: [(name: String, value: String)] = [("Date", date)]
    if signsReplies, isSigned, let nonce = authentication?.nonce {
      headers.append(
        (
          ReplySignature.header,
          ReplySignature.signature(secret: Secret(Self.secret), nonce: nonce, status: status, body: [])
        ))
    }
    return HTTPReply(status: status, headers: headers, body: [])
  }
}

@Suite struct ServiceProbeTests {
  private func acceptance(
    _ service: ServiceOfWords, scheme: SigningScheme = .documented, mayBeHost: Bool = false
  ) throws -> ServiceProbe.Acceptance {
    let probe = ServiceProbe(
      server: try ServerURL("https://service.example/base"), dialect: .iampass, transport: service,
      unixTime: { ServiceOfWords.now })
    let credential = ServiceCredential(applicationID: "app", secret: Secret(ServiceOfWords.secret))
    return try probe.acceptance(
      of: credential, scheme: scheme, mayBeHost: mayBeHost, deadline: .now().advanced(milliseconds: 1_000))
  }

  @Test func notFoundBehindTheSignatureIsAcceptance() throws {
    let service = ServiceOfWords { _, isSigned in isSigned ? 404 : 401 }
    #expect(try acceptance(service) == .accepted(.application, signsReplies: false, signsTargets: false))
  }

  @Test func notFoundWhateverTheSignatureIsAnUnknownApplication() throws {
    #expect(try acceptance(ServiceOfWords { _, _ in 404 }) == .unknownApplication)
  }

  @Test func aSignedReplyIsAcceptanceWithoutAnotherCall() throws {
    let service = ServiceOfWords(signsReplies: true) { _, isSigned in isSigned ? 404 : 401 }
    #expect(try acceptance(service) == .accepted(.application, signsReplies: true, signsTargets: false))
    #expect(service.asked.count == 1)
  }

  @Test func theOtherSchemeIsRefused() throws {
    let service = ServiceOfWords(scheme: .client) { _, isSigned in isSigned ? 404 : 401 }
    #expect(try acceptance(service, scheme: .documented) == .refused)
    #expect(
      try acceptance(service, scheme: .client) == .accepted(.application, signsReplies: false, signsTargets: false))
  }

  @Test func aHostsCredentialReachesSignInsOnly() throws {
    let service = ServiceOfWords { url, isSigned in
      url.contains("/management/") ? 403 : isSigned ? 404 : 401
    }
    #expect(try acceptance(service, mayBeHost: true) == .accepted(.host, signsReplies: false, signsTargets: false))
    #expect(try acceptance(service, mayBeHost: false) == .refused)
  }

  @Test func aClockFarOffIsToldFromABadSignature() throws {
    let service = ServiceOfWords(date: "Sun, 06 Nov 1994 09:49:37 GMT") { _, _ in 401 }
    #expect(try acceptance(service) == .clockDiffers(3_600))
  }

  @Test func aServiceThatFailsHasNotAccepted() {
    #expect(throws: ServiceError.serverFailed(status: 503)) { try acceptance(ServiceOfWords { _, _ in 503 }) }
    #expect(throws: ServiceError.redirected(status: 302)) { try acceptance(ServiceOfWords { _, _ in 302 }) }
  }

  @Test func itAsksForNobodyBelowTheServersPath() throws {
    let service = ServiceOfWords { _, isSigned in isSigned ? 404 : 401 }
    _ = try acceptance(service)
    let start = "https://service.example/base/management/has_registered_mobile_device/app/"
    #expect(service.asked.allSatisfy { $0.hasPrefix(start) && $0.count == start.count + 32 })
  }
}
