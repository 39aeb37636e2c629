import IAMPASSProtocol
import NIOCore
import Testing

@testable import DeviceProtocol
@testable import IAMPASSServer

struct PushTests {
  /// The browser's keys of RFC 8291 §5.
  private let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private let secret = "BTBZMqHH6r4Tts7J_aSIgg"

  /// An address where nobody listens: this computer itself is not a push service.
  static var subscription: UnverifiedPushSubscription { subscription(at: "https://localhost") }

  static func subscription(at origin: String) -> UnverifiedPushSubscription {
    UnverifiedPushSubscription(endpoint: origin + "/a", p256dh: PushTests().point, auth: Secret(PushTests().secret))
  }

  private func subscription(_ endpoint: String, point: String? = nil, secret: String? = nil) -> PushSubscription? {
    PushSubscription(
      UnverifiedPushSubscription(
        endpoint: endpoint, p256dh: point ?? self.point, auth: Secret(secret ?? self.secret)))
  }

  private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

  @Test func sealsAsTheExampleOfRFC8291() throws {
    let sender = try bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    let own = try bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
    // The private key's form of RFC 5915 around the two.
    let der =
      [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20] + sender
      + [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0xA1, 0x44, 0x03, 0x42, 0x00] + own
    let sealing = PushSealing(
      receiver: try DevicePublicKey(point: try bytes(point)), authentication: try bytes(secret))
    let sealed = try sealing.seal(
      Array("When I grow up, I want to be a watermelon".utf8),
      by: try DeviceKey(exported: Secret(Base64.encode(der))), salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw"))
    #expect(
      Base64URL.encode(sealed)
        == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PB"
        + "ru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
  }

  @Test func refusesAMessageThatNoPushServiceMustTake() throws {
    let sealing = try #require(subscription("https://push.test/a")).sealing
    #expect(try sealing.seal(Array(repeating: 0, count: PushSealing.greatestLength)).count == 4_096)
    #expect(throws: PushSealingError.tooLong) {
      try sealing.seal(Array(repeating: 0, count: PushSealing.greatestLength + 1))
    }
  }

  @Test func takesOnlyAddressesByNameOverTLS() throws {
    let taken = try #require(subscription("https://push.test:8443/send/a-b?c=d"))
    #expect(taken.origin == "https://push.test:8443")
    #expect(taken.target == "/send/a-b?c=d")
    #expect(subscription("https://push.test?c")?.target == "/?c")
    for endpoint in [
      "http://push.test/a", "https://192.0.2.1/a", "https://[2001:db8::1]/a", "https://127.0.0.1/a", "ftp://push.test",
      "https://user@push.test/a", "https://push.test\r\n/a", "https://push.test/a\r\nX: y", "https://push.test/?a b",
      "https://push.test/?a\r\nX: y", "https://push.test/?a#b",
      "",
      "https://push.test/" + String(repeating: "a", count: 2_000),
    ] { #expect(subscription(endpoint) == nil, "\(endpoint)") }
  }

  @Test func takesOnlyKeysThatWork() {
    #expect(subscription("https://push.test/a", secret: "BTBZMqHH6r4Tts7J") == nil)
    #expect(subscription("https://push.test/a", point: secret) == nil)
    // The right length, but not on the curve.
    let wrong = [4] + [UInt8](repeating: 1, count: 64)
    #expect(subscription("https://push.test/a", point: Base64URL.encode(wrong)) == nil)
  }

  @Test(
    arguments: [
      ([127, 0, 0, 1], false), ([10, 1, 2, 3], false), ([172, 31, 0, 1], false), ([172, 32, 0, 1], true),
      ([192, 168, 1, 1], false), ([169, 254, 169, 254], false), ([100, 64, 0, 1], false), ([0, 0, 0, 0], false),
      ([224, 0, 0, 1], false), ([255, 255, 255, 255], false), ([142, 250, 1, 1], true), ([8, 8, 8, 8], true),
    ] as [([UInt8], Bool)])
  func knowsPublicAddresses(address: [UInt8], isPublic: Bool) {
    #expect(PublicNetwork.contains(v4: address) == isPublic)
  }

  @Test(
    arguments: [
      ([0, 0], [0, 1], false), ([0xFE, 0x80], [0, 1], false), ([0xFC, 0], [0, 1], false), ([0xFF, 2], [0, 1], false),
      ([0x20, 0x02, 0x7F, 0, 0, 1], [0, 1], false), ([0x00, 0x64, 0xFF, 0x9B], [127, 0, 0, 1], false),
      // NAT64: 17.0.0.1, 10.0.0.1, and a network that only looks like it.
      ([0x00, 0x64, 0xFF, 0x9B], [17, 0, 0, 1], true), ([0x00, 0x64, 0xFF, 0x9B], [10, 0, 0, 1], false),
      ([0x00, 0x64, 0xFF, 0x9B, 0, 1], [17, 0, 0, 1], false),
      ([0x20, 0x01, 0, 0], [0, 1], false), ([0x20, 0x01, 0x0D, 0xB8], [0, 1], false),
      ([0x2A, 0x00, 0x14, 0x50], [0x20, 0x0E], true), ([0x20, 0x01, 0x48, 0x60], [0x88, 0x88], true),
    ] as [([UInt8], [UInt8], Bool)])
  func knowsPublicAddressesOfIPv6(start: [UInt8], end: [UInt8], isPublic: Bool) {
    let middle = [UInt8](repeating: 0, count: 16 - start.count - end.count)
    #expect(PublicNetwork.contains(v6: start + middle + end) == isPublic)
  }

  /// A phone must not make this service try other ports.
  @Test func refusesASubscriptionAtAnotherPort() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let other = UnverifiedPushSubscription(endpoint: "https://push.test:8443/a", p256dh: point, auth: Secret(secret))
    #expect(try await phone.subscribe(other).reason == "BAD_SUBSCRIPTION")
    let usual = UnverifiedPushSubscription(endpoint: "https://push.test:443/a", p256dh: point, auth: Secret(secret))
    #expect(try await phone.subscribe(usual).status == 200)
  }

  /// An earlier version, which accepted any port, stored this subscription.
  @Test func doesNotRingAtAnotherPort() async throws {
    let stored = try #require(subscription("https://localhost:1/a"))
    await #expect(throws: PushProblem.unusualPort) {
      try await PushClient(trust: PushTrust()).post(to: stored, headers: [:], body: [])
    }
  }

  @Test(
    arguments: [
      ("142.250.1.1", true), ("141.5.6.7", true), ("141.5.7.200", false), ("141.5.7.1", false), ("9.9.9.9", false),
      ("9.9.9.8", true), ("10.0.0.1", false), ("2a00:1450::1", true), ("2a01:4f8:1:2::77", false),
      ("2a01:4f8:1:3::77", true), ("64:ff9b::141.5.7.200", false), ("64:ff9b::141.5.6.7", true),
    ])
  func ringsAtNoAddressOfThisMachinesOwnNetworks(_ address: String, isTaken: Bool) throws {
    let own = OwnNetworks(networks: [
      .init(address: [141, 5, 7, 1], mask: [255, 255, 255, 0]),
      // A network of all addresses does not count as this machine's own.
      .init(address: [9, 9, 9, 9], mask: [0, 0, 0, 0]),
      .init(
        address: [0x2A, 0x01, 0x04, 0xF8, 0, 1, 0, 2] + [UInt8](repeating: 0, count: 8),
        mask: [UInt8](repeating: 255, count: 8) + [UInt8](repeating: 0, count: 8)),
    ])
    let addresses = [
      try SocketAddress(ipAddress: "8.8.8.8", port: 443), try SocketAddress(ipAddress: address, port: 443),
    ]
    #expect(PushTrust().allows(addresses, own: { own }) == isTaken)
  }

  @Test func knowsTheNetworksOfThisMachine() throws {
    let own = try OwnNetworks.current()
    #expect(own.contains(try SocketAddress(ipAddress: "127.7.7.7", port: 443)))
    #expect(!own.contains(try SocketAddress(ipAddress: "8.8.8.8", port: 443)))
  }

  @Test func keepsTheServicesKey() async throws {
    let fixture = try await Fixture()
    let request = ServiceRequest(method: "GET", target: "/device/v1/push-key", authority: Fixture.authority)
    let key = try PushKeyReply(parsing: await fixture.respond(request).body).key
    #expect(try PushKeyReply(parsing: await fixture.restarted().respond(to: request).body).key == key)
    #expect(Base64URL.decode(key)?.count == 65)
  }

  @Test func forgetsWhereAPhoneIsRungWithThePhone() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    #expect(try await phone.subscribe(Self.subscription).status == 200)
    let storage = fixture.service.storage
    let user = try await storage.read { [id = phone.device] in try Phone.find(id, in: $0)?.user ?? 0 }
    let rung = { @Sendable in try await storage.pushTargets(of: user).first?.phone }
    let before = try await rung()
    #expect(before == phone.device)
    _ = try await fixture.linkCode(for: "alice", lost: true)
    let after = try await rung()
    #expect(after == nil)
  }

  @Test func refusesASubscriptionThatCannotBeRung() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let inside = UnverifiedPushSubscription(endpoint: "https://10.0.0.1/a", p256dh: point, auth: Secret(secret))
    let reply = try await phone.subscribe(inside)
    #expect(reply.status == 400)
    #expect(reply.reason == "BAD_SUBSCRIPTION")
    #expect(try await phone.subscribe(nil).status == 200)
  }
}

extension TestPhone {
  func subscribe(_ subscription: UnverifiedPushSubscription?) async throws -> ServiceReply {
    let nonce = try #require(Digest.randomIdentifier())
    let ask = DeviceAsk(
      origin: Fixture.origin, device: device, purpose: .push, timestamp: fixture.clock.now.seconds, nonce: nonce)
    let statement = PushStatement(ask: ask, way: subscription.map { .browser($0) })
    return await fixture.respond(
      Self.request(DeviceRoute.push, try UnverifiedStatement.body(signing: statement.json, with: key)))
  }
}
