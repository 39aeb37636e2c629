import IAMPASSProtocol
import JWTKit
import Testing

@testable import IAMPASSServer

/// How applications' own apps are rung, as administrators set it.
@Suite struct NotificationSettingsTests {
  static func tokenKey() -> Secret { Secret(ES256PrivateKey().pemRepresentation) }

  /// Settings that Apple would accept.
  static func apple(
    key: Secret = tokenKey(), keyID: String = "ABC123DEFG", topic: String = "org.example.signin"
  ) throws(NotificationFault) -> NotificationSettings {
    .apple(
      try AppleNotifications(
        tokenKey: key, keyID: keyID, teamID: "DEF123GHIJ", topic: topic, environment: .production))
  }

  private func fault(_ make: () throws(NotificationFault) -> NotificationSettings) -> NotificationFault? {
    do {
      _ = try make()
      return nil
    } catch { return error }
  }

  @Test func aTokenKeyIsStoredAsItCanBeReadAgain() throws {
    let key = Self.tokenKey()
    let settings = try Self.apple(key: key)
    let again = try #require(
      NotificationSettings(settings.service, details: settings.details, secret: settings.secret))
    #expect(again.line == settings.line && again.secret == key)
    #expect(settings.line == "apple topic=org.example.signin production key=ABC123DEFG team=DEF123GHIJ")
  }

  @Test func noDescriptionHasTheKey() throws {
    let settings = try Self.apple()
    let secret = settings.secret.exposedValue.split(separator: "\n")[1]
    for text in ["\(settings)", settings.line, settings.details] {
      #expect(!text.contains(secret))
    }
  }

  @Test func wordsThatAppleDoesNotKnowAreRefused() {
    #expect(fault { () throws(NotificationFault) in try Self.apple(keyID: "abc123defg") } == .keyIDNotFit)
    #expect(fault { () throws(NotificationFault) in try Self.apple(keyID: "ABC123DEF") } == .keyIDNotFit)
    for topic in ["", "a b", "org.example/x", "x\r\ny", String(repeating: "a", count: 256)] {
      #expect(fault { () throws(NotificationFault) in try Self.apple(topic: topic) } == .topicNotFit, "\(topic)")
    }
  }

  @Test func aKeyOfAnotherKindIsRefused() {
    let other = ES384PrivateKey().pemRepresentation
    for key in [other, "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
      #expect(fault { () throws(NotificationFault) in try Self.apple(key: Secret(key)) } == .tokenKeyNotFit)
    }
  }

  @Test func aServiceAccountThatSendsElsewhereIsRefused() {
    func file(_ changed: String) -> [UInt8] {
      Array(
        """
        {"type": "service_account", "project_id": "p", "private_key_id": "1", "client_email": "a@p.test",
         "private_key": "k", "token_uri": "https://oauth2.googleapis.com/token"}
        """.replacing(#"https://oauth2.googleapis.com/token"#, with: changed).utf8)
    }
    let elsewhere = fault { () throws(NotificationFault) in
      .google(try GoogleNotifications(serviceAccount: file("https://evil.test/token")))
    }
    #expect(elsewhere == .member("token_uri"))
    let keyless = fault { () throws(NotificationFault) in
      .google(try GoogleNotifications(serviceAccount: file("https://oauth2.googleapis.com/token")))
    }
    #expect(keyless == .member("private_key"))
    for text in ["", "[]", "{}", #"{"type": "authorized_user"}"#] {
      let other = fault { () throws(NotificationFault) in
        .google(try GoogleNotifications(serviceAccount: Array(text.utf8)))
      }
      #expect(other == .notAServiceAccount)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func settingsTakeEachOthersPlaceAndAreAudited(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let storage = room.storage
    try await storage.setNotifications(try Self.apple(), of: "shop", at: room.now)
    try await storage.setNotifications(
      try Self.apple(topic: "org.example.other"), of: room.application.id, at: room.now)
    let set = try await storage.notifications(of: "shop")
    #expect(set.map(\.line) == ["apple topic=org.example.other production key=ABC123DEFG team=DEF123GHIJ"])
    #expect(try await storage.removeNotifications(.apple, of: "shop"))
    #expect(try await !storage.removeNotifications(.apple, of: "shop"))
    #expect(try await storage.notifications(of: "shop").isEmpty)
    let entries = try await storage.auditEntries(after: 0, limit: 1_000).filter { $0.event.hasPrefix("notifications") }
    #expect(entries.map(\.event) == ["notifications set", "notifications set", "notifications removed"])
    #expect(entries.map { $0["application"] } == ["shop", "shop", "shop"])
    #expect(entries.last?["reason"] == set.first?.line)
    await #expect(throws: ApplicationRefusal.nameUnknown) {
      try await storage.setNotifications(try Self.apple(), of: "nobody", at: room.now)
    }
  }

  @Test func theConsoleSetsShowsAndRemovesThemAndNeverShowsAKey() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let path = "/application/\(fixture.application.id)"
    let key = Self.tokenKey()
    let fields = [
      "kind": "apple-token", "key": key.exposedValue, "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ",
      "topic": " org.example.signin ", "sandbox": "on",
    ]
    #expect(await visitor.post(path + "/notifications", fields).status == 303)
    let page = await visitor.get(path).text
    #expect(page.contains("apple topic=org.example.signin sandbox key=ABC123DEFG"))
    #expect(!page.contains(key.exposedValue.split(separator: "\n")[1]))
    let bad = await visitor.post(path + "/notifications", fields.merging(["topic": "a b"]) { $1 })
    #expect(bad.status == 400 && bad.text.contains("the topic is invalid"))
    #expect(!bad.text.contains(key.exposedValue.split(separator: "\n")[1]))
    #expect(await visitor.post(path + "/notifications", ["kind": "other"]).status == 400)
    #expect(await visitor.post(path + "/notifications", ["kind": "none", "service": "apple"]).status == 303)
    #expect(await visitor.get(path).text.contains("No app is rung."))
  }

  @Test func aFormWithoutTheConsolesTokenSetsNothing() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let reply = await visitor.post(
      "/application/\(fixture.application.id)/notifications", ["kind": "none", "service": "apple", "token": "0"])
    #expect(reply.status == 403)
  }
}
