import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// A service that signs its replies as one of its versions does.
private final class VersionedService: HTTPTransport {
  enum Version: Sendable, CaseIterable {
    /// Signs nothing.
    case another
    /// Signs status and body, and ignores unknown parts of an address.
    case older
    /// Also signs the request, and seals links.
    case current
  }

  static let credential = ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx"))
  static let link = "https://h/register/0123456789abcdef0123456789abcdef"

  let version: Version
  let scheme: SigningScheme
  /// How an intermediary changes a reply.
  var onTheWay: (HTTPReply) -> HTTPReply = { $0 }
  /// The request that an intermediary sends instead.
  var asked: (HTTPRequest) -> HTTPRequest = { $0 }
  private(set) var requests: [HTTPRequest] = []
  private(set) var replies: [HTTPReply] = []

  init(_ version: Version, scheme: SigningScheme = .documented) {
    self.version = version
    self.scheme = scheme
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    requests.append(request)
    let reply = answer(asked(request))
    replies.append(reply)
    return onTheWay(reply)
  }

  private func answer(_ request: HTTPRequest) -> HTTPReply {
    let header = request.headers.first { $0.name == Dialect.authenticationHeader }?.value ?? ""
    let nonce = UnverifiedAuthentication(header: header)?.nonce ?? ""
    let body = body(for: request, nonce)
    var headers: [(name: String, value: String)] = []
    if version != .another {
      let signature = ReplySignature.signature(
        secret: Self.credential.secret, nonce: nonce, status: 200, body: body)
      headers.append((ReplySignature.header, signature))
    }
    if version == .current {
      let covered = scheme == .client ? String(request.url.dropFirst("https://".count)) : request.url
      let signature = ReplySignature.targetSignature(
        secret: Self.credential.secret, nonce: nonce, method: request.method.rawValue, address: covered, status: 200,
        body: body)
      headers.append((ReplySignature.targetHeader, signature))
    }
    return HTTPReply(status: 200, headers: headers, body: body)
  }

  private func body(for request: HTTPRequest, _ nonce: String) -> [UInt8] {
    if request.url.contains("/add_users/") { return AddUsersReply(created: ["t"], existing: []).encoded() }
    guard request.url.contains("_link/") || request.url.contains("/lost_") else {
      return Array(#"{"status":true,"device_registered":true}"#.utf8)
    }
    let isSealed = version == .current && request.url.hasSuffix("sealed=1")
    guard isSealed else { return RegistrationLinkReply(registerURL: Self.link).encoded() }
    let seal = LinkSeal(secret: Self.credential.secret, nonce: nonce)
    return SealedLinkReply.sealed(seal.sealed(Self.link, salt: Array(repeating: 7, count: LinkSeal.saltLength)))
      .encoded()
  }
}

@Suite struct SignedTargetTests {
  private let deadline = MonotonicInstant.now().advanced(milliseconds: 60_000)

  private func client(_ service: VersionedService, replies: Bool = true, targets: Bool = false) throws
    -> ManagementClient
  {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: service.scheme, dialect: .iampass, signedReplies: replies,
      signedTargets: targets)
    return try ManagementClient(
      settings: settings, credential: VersionedService.credential, transport: service, unixTime: { 0 })
  }

  private func ask(_ client: ManagementClient, _ user: String = "t") throws(ServiceError) -> Bool {
    try client.hasRegisteredMobileDevice(token: Secret(user), deadline: deadline)
  }

  private func without(_ name: String, _ reply: HTTPReply) -> HTTPReply {
    HTTPReply(status: reply.status, headers: reply.headers.filter { $0.name != name }, body: reply.body)
  }

  @Test(arguments: SigningScheme.allCases)
  func aReplySignedForItsRequestIsTaken(_ scheme: SigningScheme) throws {
    let service = VersionedService(.current, scheme: scheme)
    #expect(try ask(client(service)))
    #expect(try ask(client(service, targets: true)))
  }

  @Test func anOlderServicesReplyIsTakenWhereNothingMoreWasRecorded() throws {
    #expect(try ask(client(VersionedService(.older))))
  }

  @Test func theOlderSignatureIsNotEnoughOnceMoreWasRecorded() throws {
    #expect(throws: ServiceError.replyTargetNotSigned) { try ask(client(VersionedService(.older), targets: true)) }
    #expect(throws: ServiceError.replyNotSigned) { try ask(client(VersionedService(.another), targets: true)) }
    let service = VersionedService(.current)
    service.onTheWay = { without(ReplySignature.targetHeader, $0) }
    #expect(throws: ServiceError.replyTargetNotSigned) { try ask(client(service, targets: true)) }
    // The new signature is enough: a later service may leave out the older one.
    service.onTheWay = { without(ReplySignature.header, $0) }
    #expect(try ask(client(service, targets: true)))
  }

  @Test(arguments: [true, false], SigningScheme.allCases)
  func aReplyToAnotherQuestionIsRefused(_ isRecorded: Bool, _ scheme: SigningScheme) throws {
    let service = VersionedService(.current, scheme: scheme)
    service.asked = { request in
      let url = String(request.url.dropLast()) + "u"
      return HTTPRequest(method: request.method, url: url, headers: request.headers, body: request.body)
    }
    #expect(throws: ServiceError.replyNotSigned) { try ask(client(service, targets: isRecorded)) }
    service.asked = { HTTPRequest(method: .post, url: $0.url, headers: $0.headers, body: $0.body) }
    #expect(throws: ServiceError.replyNotSigned) { try ask(client(service, targets: isRecorded)) }
  }

  @Test func theDigestOfEachBodyIsInTheSignedAddress() throws {
    let service = VersionedService(.older)
    let message = RegistrationMessageRequest(phoneNumber: "+4915112345678")
    let client = try client(service)
    _ = try client.addUsers([Secret("t")], deadline: deadline)
    try client.deleteUsers([Secret("t")], deadline: deadline)
    try client.sendRegistrationSMS(token: Secret("t"), message: message, deadline: deadline)
    #expect(service.requests.map(\.method) == [.post, .post, .post])
    for request in service.requests {
      #expect(request.url.hasSuffix("?body_sha256=" + BodyDigest.value(of: request.body)))
    }
  }

  /// `iampass-server` of any version takes them: an older one reads the users alone.
  @Test func aServiceThatSignsItsRepliesIsToldTheNamesThatItTakes() throws {
    let service = VersionedService(.older)
    let (first, second) = (Secret("t"), Secret("u"))
    // Several users may share a token; a name that is not fit would have the service refuse everybody.
    let names = [(first, "alice"), (first, "bob"), (second, "c\u{202E}d")]
    _ = try client(service).addUsers([first, second], called: names, deadline: deadline)
    let body = AddUsersRequest(users: ["t", "u"], names: [.init(user: "t", text: "alice")]).encoded()
    #expect(service.requests.map(\.body) == [body])
  }

  @Test func aServiceThatSignsNothingIsToldNoMoreThanTheContractHas() throws {
    let service = VersionedService(.another)
    let client = try client(service, replies: false)
    _ = try client.addUsers([Secret("t")], called: [(Secret("t"), "alice")], deadline: deadline)
    #expect(service.requests.map(\.body) == [UsersRequest(users: ["t"]).encoded()])
    let link = try client.deviceRegistrationLink(token: Secret("t"), displayName: nil, deadline: deadline)
    #expect(link == VersionedService.link)
    #expect(
      service.requests.map(\.url) == [
        "https://h/management/add_users/app", "https://h/management/device_registration_link/app/t",
      ])
  }

  @Test(arguments: [true, false])
  func aLinkIsNotToBeReadOnTheWay(_ isRecorded: Bool) throws {
    let service = VersionedService(.current)
    let client = try client(service, targets: isRecorded)
    let links = [
      try client.deviceRegistrationLink(token: Secret("t"), displayName: "A B", deadline: deadline),
      try client.lostUserMobileDevice(token: Secret("t"), displayName: nil, deadline: deadline).link,
    ]
    #expect(links == [VersionedService.link, VersionedService.link])
    #expect(
      service.requests[0].url == "https://h/management/device_registration_link/app/t?display_name=A%20B&sealed=1")
    #expect(service.requests[1].url == "https://h/management/lost_user_mobile_device/app/t?sealed=1")
    #expect(service.replies.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("register/") })
  }

  /// The signature covers it, so that an intermediary cannot change it.
  @Test func whichSessionsEndWithALostPhoneStandsInTheSignedAddress() throws {
    let service = VersionedService(.current)
    let lost = try client(service).lostUserMobileDevice(
      token: Secret("t"), displayName: nil, sessions: LostDeviceSessions(kept: ["a1", "b&2", "c3"]), deadline: deadline)
    #expect(
      service.requests.map(\.url) == [
        "https://h/management/lost_user_mobile_device/app/t?sealed=1&end_sessions=1&keep_sessions=a1%2Cc3"
      ])
    // That service does not report sessions.
    #expect(lost.endedSessions == nil)
  }

  @Test func aServiceThatSignsNothingIsAskedToEndNoSessions() throws {
    let service = VersionedService(.another)
    let lost = try client(service, replies: false).lostUserMobileDevice(
      token: Secret("t"), displayName: nil, sessions: LostDeviceSessions(kept: []), deadline: deadline)
    #expect(service.requests.map(\.url) == ["https://h/management/lost_user_mobile_device/app/t"])
    #expect(lost.endedSessions == nil)
  }

  @Test func anOlderServicesOpenLinkIsTakenOnlyWhereNothingMoreWasRecorded() throws {
    let older = try client(VersionedService(.older))
    let link = try older.deviceRegistrationLink(token: Secret("t"), displayName: nil, deadline: deadline)
    #expect(link == VersionedService.link)
    // A service that signs targets also knows seals: it must have received another request.
    let service = VersionedService(.current)
    service.asked = { request in
      let url = request.url.replacingSuffix("?sealed=1", with: "")
      return HTTPRequest(method: request.method, url: url, headers: request.headers, body: request.body)
    }
    let client = try client(service, targets: true)
    #expect(throws: ServiceError.replyNotSigned) {
      try client.deviceRegistrationLink(token: Secret("t"), displayName: nil, deadline: deadline)
    }
  }

  @Test func theProbeTellsWhatTheServiceSigns() throws {
    for (version, expected) in [
      (
        VersionedService.Version.older,
        ServiceProbe.Acceptance.accepted(.application, signsReplies: true, signsTargets: false)
      ),
      (.current, .accepted(.application, signsReplies: true, signsTargets: true)),
    ] {
      #expect(try acceptance(VersionedService(version)) == expected)
    }
    // A wrong signature counts like a missing one, whatever the other signature says.
    let service = VersionedService(.current)
    service.asked = { HTTPRequest(method: $0.method, url: $0.url + "x", headers: $0.headers, body: $0.body) }
    #expect(try acceptance(service) == .unknownApplication)
  }

  private func acceptance(_ service: VersionedService) throws -> ServiceProbe.Acceptance {
    let probe = ServiceProbe(
      server: try ServerURL("https://h"), dialect: .iampass, transport: service, unixTime: { 0 })
    return try probe.acceptance(
      of: VersionedService.credential, scheme: .documented, mayBeHost: false, deadline: deadline)
  }
}

extension String {
  fileprivate func replacingSuffix(_ suffix: String, with text: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) + text : self
  }
}
