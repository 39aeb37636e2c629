import HostState
import Testing

/// What `iampass.conf` says of phones that are looked for by Bluetooth.
@Suite struct PresenceConfigurationTests {
  private func read(_ text: String) throws -> Configuration { try Configuration(parsing: Array(text.utf8)) }

  @Test func noPhoneIsLookedForByDefault() throws {
    let configuration = try read("")
    #expect(configuration.presence == .off)
    #expect((configuration.presenceInterval, configuration.presenceGrace) == (20, 30))
    #expect((configuration.onPresenceLeft, configuration.onPresenceUnknown) == (.lock, .lock))
    #expect(configuration.presenceUnknownGrace == 300)
    #expect(configuration.presenceKey == .any)
  }

  @Test func readsWhatIsSaidOfPresence() throws {
    let configuration = try read(
      """
      presence = bluetooth
      presence_interval = 5s
      presence_grace = 1h
      on_presence_left = logout
      presence_unknown_grace = 24h
      on_presence_unknown = ignore
      presence_key = authenticated
      """)
    #expect(configuration.presence == .bluetooth)
    #expect((configuration.presenceInterval, configuration.presenceGrace) == (5, 3_600))
    #expect((configuration.onPresenceLeft, configuration.onPresenceUnknown) == (.logout, .ignore))
    #expect(configuration.presenceUnknownGrace == 86_400)
    #expect(configuration.presenceKey == .authenticated)
  }

  @Test(arguments: [
    "presence = on", "presence_interval = 4s", "presence_interval = 121s", "presence_grace = 3601",
    "presence_unknown_grace = 9s", "presence_unknown_grace = 25h", "on_presence_left = unlock",
    "on_presence_unknown = ", "presence_key = none",
  ])
  func refusesABadValueOfPresence(_ line: String) {
    #expect(throws: ConfigurationError.self) { try read(line) }
  }
}
