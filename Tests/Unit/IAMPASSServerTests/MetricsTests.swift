import Testing

@testable import IAMPASSServer

@Suite struct MetricsTests {
  @Test(arguments: StorageEngine.allCases)
  func whatNeedsNoDatabaseIsThereWithoutIt(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine) { LosingStorage($0, losing: -1, .before) }
    let losing = try #require(fixture.service.core.storage as? LosingStorage)
    losing.setDown(true)
    let text = await fixture.service.metricsText()
    for line in ["iampass_stock_readable 0", "iampass_storage_failures_total 1", "iampass_requests_held 0"] {
      #expect(text.contains("\n\(line)\n"), "\(line)")
    }
    #expect(text.contains("\nprocess_start_time_seconds ") && text.hasSuffix("\n# EOF\n"))
    // A number that is not known is not 0.
    for name in ["iampass_applications", "iampass_sessions_live", "iampass_database_size_bytes"] {
      #expect(!text.contains(name), "\(name)")
    }
    losing.setDown(false)
    let later = await fixture.service.metricsText()
    for line in ["iampass_stock_readable 1", "iampass_storage_failures_total 1", "iampass_applications 1"] {
      #expect(later.contains("\n\(line)\n"), "\(line)")
    }
  }

  @Test func housekeepingHasAnAgeOnceAWholeRoundIsOver() async throws {
    let fixture = try await Fixture { LosingStorage($0, losing: -1, .before) }
    let losing = try #require(fixture.service.core.storage as? LosingStorage)
    let name = "\niampass_housekeeping_age_seconds "
    losing.setDown(true)
    await #expect(throws: LosingStorage.ConnectionLost.self) { try await fixture.service.tidy() }
    losing.setDown(false)
    #expect(await !fixture.service.metricsText().contains(name))
    try await fixture.service.tidy()
    let text = await fixture.service.metricsText()
    #expect(text.contains(name) && text.contains("\niampass_keeps_house 1\n"))
  }
}
