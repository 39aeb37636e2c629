import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The places of browsers that wait for an administrator's phone: networks share them.
@Suite struct ConsolePlaceTests {
  @Test(arguments: StorageEngine.allCases)
  func aNetworkWithFewerPlacesGetsTheOldestOfTheOneWithTheMost(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    #expect(try await room.asks("oldest", from: "203.0.113"))
    room.clock.advance(seconds: 1)
    #expect(try await room.asks("second", from: "203.0.113"))
    room.clock.advance(seconds: 1)
    try await room.storage.takeAllPlaces(of: "203.0.113", at: room.now)
    #expect(try await room.asks("administrator", from: "192.0.2"))
    #expect(try await room.has("administrator"))
    #expect(try await !room.has("oldest"))
    #expect(try await room.has("second"))
    // There are as many as before.
    #expect(try await !room.asks("further", from: "203.0.113"))
    #expect(try await room.has("administrator"))
  }

  @Test(arguments: StorageEngine.allCases)
  func strangersOfSeveralNetworksTakeEachOthersPlacesAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    #expect(try await room.asks("administrator", from: "192.0.2"))
    room.clock.advance(seconds: 1)
    for number in 0..<ConsoleSignInRequest.greatestCount / 2 {
      #expect(try await room.asks("one \(number)", from: "203.0.113"))
    }
    try await room.storage.takeAllPlaces(of: "2001:db8:1", at: room.now)
    for number in 0..<20 {
      for network in ["203.0.113", "2001:db8:1"] { _ = try await room.asks("\(network) \(number)", from: network) }
    }
    #expect(try await room.has("administrator"))
    #expect(try await room.asks("second administrator", from: "192.0.2"))
    #expect(try await room.has("administrator"))
  }
}

extension StorageFixture {
  /// Whether the browser with this key gets a place.
  fileprivate func asks(_ key: String, from network: String) async throws -> Bool {
    try await storage.keep(
      ConsoleSignInRequest(key: Secret(key), session: nil, matchCode: Secret(""), askedAt: now, network: network),
      at: now)
  }

  /// Whether the browser with this key has a place.
  fileprivate func has(_ key: String) async throws -> Bool {
    try await storage.consoleRequest(Secret(key), at: now) != nil
  }
}
