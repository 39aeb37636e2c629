import DeviceProtocol
import Foundation
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// How phones are rung, sealed by a key outside the database.
@Suite struct PushSealTests {
  @Test(arguments: StorageEngine.allCases)
  func aBackupOfASealedDatabaseDoesNotSayHowToRingPhones(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let room = fixture.room
    let (browser, app) = (try await room.phone(), try await room.phone(of: "bob"))
    let subscription = PushTests.subscription(at: "https://push.example.org")
    let token = Secret(String(repeating: "0a", count: 32))
    let told = PushWay.app(UnverifiedAppToken(service: .apple, token: token))
    try await room.storage.setNotifications(NotificationSettingsTests.apple(), of: "shop", at: room.now)
    #expect(try await room.storage.keepPush(.browser(subscription), of: browser, at: room.now))
    #expect(try await room.storage.keepPush(told, of: app, at: room.now))
    let secrets = [Secret(subscription.endpoint), subscription.auth, token]
    func found() async throws -> Int {
      let all = try await fixture.everything()
      return secrets.count { all.range(of: Data($0.exposedValue.utf8)) != nil }
    }
    #expect(try await found() == 3)
    _ = try await fixture.seal()
    let (service, operators) = try fixture.opened(fixture.keys)
    try await operators.eraseOverwritten()
    #expect(try await found() == 0)
    // What is kept now is sealed, too, and each is forgotten as it was told.
    for (phone, way) in [(browser, PushWay.browser(subscription)), (app, told)] {
      let before = try #require(try await service.pushTargets(of: phone.user).first)
      room.clock.advance(seconds: 1)
      #expect(try await service.keepPush(way, of: phone, at: room.now))
      #expect(try await found() == 0)
      if case .app = way { try await service.forget(before) }
      let again = try #require(try await service.pushTargets(of: phone.user).first)
      try await service.forget(again)
      #expect(try await service.pushTargets(of: phone.user).isEmpty)
    }
    try await operators.checkSeals()
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneIsRungAtItsOwnAddressAlone(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let room = fixture.room
    let (first, other) = (try await room.phone(), try await room.phone(of: "bob"))
    for (phone, name) in [(first, "a"), (other, "b")] {
      let subscription = PushTests.subscription(at: "https://\(name).example.org")
      #expect(try await room.storage.keepPush(.browser(subscription), of: phone, at: room.now))
    }
    _ = try await fixture.seal()
    let service = try fixture.opened(fixture.keys).service
    #expect(try await service.pushTargets(of: first.user).count == 1)
    try await fixture.run(
      "UPDATE push_subscription SET endpoint = (SELECT endpoint FROM push_subscription WHERE phone = $1) WHERE phone = $2",
      other.id, first.id)
    #expect(try await sealFault { _ = try await service.pushTargets(of: first.user) } == .changed)
    #expect(!AppToken.isFit(UnverifiedAppToken(service: .google, token: Secret("sealed:1:0123456789:AAAA"))))
  }
}
