import HostDoctor
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@Suite struct ServiceJudgementTests {
  private static let now: Int64 = 1_800_000_000

  private func findings(
    _ facts: ServiceFacts, _ configuration: String = "", server: String = "https://iampass.example.com"
  ) throws -> [Finding] {
    let judgement = ServiceJudgement(
      server: try ServerURL(server), configuration: try Configuration(parsing: Array(configuration.utf8)),
      credentialsPath: "/etc/iampass/credentials")
    return judgement.findings(facts, now: Self.now)
  }

  private func answer(
    _ credential: ServiceFacts.CredentialReply = .notAsked, clock: Int64? = 0,
    certificateEnd: ServiceFacts.CertificateEnd = .notAsked, hostsHaveOwn: Bool = false, address: ServerURL? = nil
  ) -> ServiceFacts {
    let announcement = ServiceAnnouncement(hostCredentials: hostsHaveOwn, address: address)
    return .answered(
      ServiceFacts.Answer(
        milliseconds: 12, announcement: announcement, clockDifference: clock, certificateEnd: certificateEnd,
        credential: credential))
  }

  private func accepted(
    _ kind: ServiceProbe.CredentialKind = .host, replies: Bool = true, targets: Bool = true
  ) -> ServiceFacts.CredentialReply {
    .answered(.accepted(kind, signsReplies: replies, signsTargets: targets))
  }

  /// What the doctor reports of the credential, without the line that the signature is accepted.
  private func complaints(_ facts: ServiceFacts, _ configuration: String = "") throws -> [Finding] {
    try findings(facts, configuration).filter { $0.area == .service && $0.level != .ok }
  }

  // MARK: the network

  @Test func tellsHowLongTheServiceTook() throws {
    #expect(try findings(answer()).first?.text == "https://iampass.example.com answers over TLS (12 ms)")
    #expect(
      try findings(answer(), server: "http://127.0.0.1:8080").first?.text == "http://127.0.0.1:8080 answers (12 ms)")
  }

  @Test func aServiceWhosePhonesSignForAnotherAddressIsSaid() throws {
    let elsewhere = answer(address: try ServerURL("https://elsewhere.example.com/base"))
    let found = try complaints(elsewhere, "approvals = verified")
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text.contains("registers phones at https://elsewhere.example.com, and server is") == true)
    #expect(try complaints(elsewhere).map(\.level) == [.warning])
    for same in ["https://iampass.example.com", "https://IAMPASS.example.com:443/base"] {
      #expect(try complaints(answer(address: try ServerURL(same)), "approvals = verified").isEmpty)
    }
  }

  @Test func aServiceThatCannotBeAskedIsTheOnlyFinding() throws {
    let found = try findings(.unreachable(.transport(TransportError(.connectionRefused))))
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text == "https://iampass.example.com cannot be asked: refused")
    #expect(found.first?.hint == "check that the service runs and that no firewall is between")
  }

  @Test func theHintForANameHasTheHostAlone() throws {
    let facts = ServiceFacts.unreachable(.transport(TransportError(.nameNotFound)))
    let hint = try findings(facts, server: "https://iampass.example.com:8443/base").first?.hint
    #expect(hint == "check server in iampass.conf, and: getent hosts iampass.example.com")
  }

  @Test func aFailureThatIsNotTheNetworksHasNoHint() throws {
    let found = try findings(.unreachable(.serverFailed(status: 503)))
    #expect(found == [Finding(.problem, .network, "https://iampass.example.com cannot be asked: server error 503")])
  }

  @Test func aMisconfigurationIsTheOnlyFinding() throws {
    let found = try findings(.misconfigured(.noServer))
    #expect(found == [Finding(.problem, .configuration, "no server is set", hint: "set server = https://…")])
  }

  @Test func theCertificateIsJudgedByTheTimeGiven() throws {
    let day: Int64 = 86_400
    for (end, level) in [(Self.now + 30 * day, Finding.Level.ok), (Self.now + 2 * day, .warning), (Self.now, .problem)]
    {
      let found = try findings(answer(certificateEnd: .at(end)))
      #expect(found.first { $0.text.hasPrefix("the service's certificate") }?.level == level)
    }
  }

  @Test func anUnknownEndOfTheCertificateIsReportedButNotAsAProblem() throws {
    #expect(
      try findings(answer(certificateEnd: .unknown)).filter { $0.text.contains("certificate") }.map(\.level) == [.ok])
    #expect(try findings(answer()).filter { $0.text.contains("certificate") } == [])
  }

  // MARK: the clock

  @Test func aClockThatTheServiceRefusesIsReportedOnce() throws {
    let found = try findings(answer(.answered(.clockDiffers(900)), clock: 1))
    #expect(found.filter { $0.text.contains("clock") }.map(\.level) == [.problem])
    #expect(found.filter { $0.area == .service } == [])
  }

  @Test func theGreetingTellsTheClockOtherwise() throws {
    let found = try findings(answer(accepted(), clock: -45))
    #expect(found.filter { $0.text.contains("clock") }.map(\.level) == [.warning])
  }

  // MARK: the credential

  @Test func aRefusedSignatureIsAProblem() throws {
    let found = try findings(answer(.answered(.refused)), "signing = client").filter { $0.area == .service }
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text == "the service does not accept the signature (signing = client)")
    #expect(found.first?.hint?.hasPrefix("iampassctl setup, ") ?? false)
  }

  @Test func anUnknownApplicationNamesTheFile() throws {
    let found = try findings(answer(.answered(.unknownApplication))).filter { $0.area == .service }
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text == "the service does not know the application_id of /etc/iampass/credentials")
  }

  @Test func aSignedCallThatFailsIsAProblem() throws {
    let found = try findings(answer(.failed(.serverFailed(status: 500)))).filter { $0.area == .service }
    #expect(found == [Finding(.problem, .service, "the signed call failed: server error 500")])
  }

  @Test func aCredentialThatWasNotReadIsNotReportedAgain() throws {
    #expect(try findings(answer(.notAsked)).filter { $0.area == .service } == [])
  }

  @Test func aCredentialOfTheHostsOwnIsWell() throws {
    let required = "signed_targets = required\napprovals = verified"
    let found = try findings(answer(accepted(), hostsHaveOwn: true), required).filter { $0.area == .service }
    #expect(found.map(\.level) == [.ok])
  }

  @Test func theApplicationsOwnCredentialIsAWarningIfHostsCanHaveOne() throws {
    let required = "signed_targets = required"
    let found = try complaints(answer(accepted(.application), hostsHaveOwn: true), required)
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.hasPrefix("this host holds the application's own credential") ?? false)
    #expect(try complaints(answer(accepted(.application), hostsHaveOwn: false), required) == [])
  }

  @Test func wordThatIsBelievedIsSaidIfTheServiceCanDoWithoutIt() throws {
    func isSaid(_ configuration: String, targets: Bool = true) throws -> Bool {
      try findings(answer(accepted(targets: targets)), configuration).contains {
        $0.level == .ok && $0.text.hasPrefix("approvals = service")
          && $0.hint?.hasPrefix("approvals = verified") == true
      }
    }
    #expect(try isSaid("signed_targets = required"))
    #expect(try !isSaid("signed_targets = required\napprovals = verified"))
    #expect(try !isSaid("signed_replies = required", targets: false))
  }

  // MARK: what the service signs

  @Test func aRequiredSignatureThatIsMissingIsTheOnlyProblem() throws {
    let found = try complaints(answer(accepted(replies: false, targets: false)), "signed_targets = required")
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text == "signed_replies = required, but the service does not sign")
  }

  @Test func aSignatureThatIsNotRequiredIsAWarning() throws {
    let found = try complaints(answer(accepted()), "signed_replies = off")
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.hint == "set signed_replies = required")
  }

  @Test func aServiceThatSignsNothingIsWellIfNothingIsRequired() throws {
    #expect(try complaints(answer(accepted(replies: false, targets: false)), "signed_replies = off") == [])
  }

  @Test func aSignatureThatDoesNotCoverTheRequestIsAProblemIfThatIsRequired() throws {
    let found = try complaints(answer(accepted(targets: false)), "signed_targets = required")
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text.hasPrefix("signed_targets = required, but ") ?? false)
  }

  @Test func aSignatureThatCoversTheRequestIsAWarningIfThatIsNotRequired() throws {
    let found = try complaints(answer(accepted()), "signed_replies = required")
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.hint == "set signed_targets = required")
  }
}

@Suite struct ServerURLPartsTests {
  @Test(arguments: [
    ("https://iampass.example.com", "iampass.example.com", "iampass.example.com", "443"),
    ("https://iampass.example.com:8443/base", "iampass.example.com", "iampass.example.com", "8443"),
    ("http://127.0.0.1:8080", "127.0.0.1", "127.0.0.1", "8080"), ("http://127.0.0.1", "127.0.0.1", "127.0.0.1", "80"),
    ("https://[2001:db8::1]:8443", "[2001:db8::1]", "2001:db8::1", "8443"),
    ("https://[2001:db8::1]/base", "[2001:db8::1]", "2001:db8::1", "443"),
  ])
  func areThoseOfTheAddress(_ text: String, host: String, hostName: String, port: String) throws {
    let server = try ServerURL(text)
    #expect((server.host, server.hostName, server.port) == (host, hostName, port))
  }
}
