import Testing

@testable import IAMPASSServer

@Suite struct MetricsTests {
  @Test(arguments: StorageEngine.allCases)
  func whatNeedsNoDatabaseIsThereWithoutIt(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine) { LosingStorage($0, losing: -1, .before) }
    let losing = try #require(fixture.service.core.storage as? LosingStorage)
    losing.setDown(true)
    let text = await fixture.service.patientMetrics()
    for line in ["iampass_stock_readable 0", "iampass_storage_failures_total 1", "iampass_requests_held 0"] {
      #expect(text.contains("\n\(line)\n"), "\(line)")
    }
    #expect(text.contains("\nprocess_start_time_seconds ") && text.hasSuffix("\n# EOF\n"))
    // A number that is not known is not 0.
    for name in ["iampass_applications", "iampass_sessions_live", "iampass_database_size_bytes"] {
      #expect(!text.contains(name), "\(name)")
    }
    losing.setDown(false)
    let later = await fixture.service.patientMetrics()
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
    #expect(await !fixture.service.patientMetrics().contains(name))
    try await fixture.service.tidy()
    let text = await fixture.service.patientMetrics()
    #expect(text.contains(name) && text.contains("\niampass_keeps_house 1\n"))
  }

  /// The database neither answers nor refuses.
  @Test(.timeLimit(.wholeRun))
  func theMetricsDoNotWaitForADatabaseThatHangs() async throws {
    let fixture = try await Fixture { LosingStorage($0, losing: -1, .before) }
    let hanging = try #require(fixture.service.core.storage as? LosingStorage)
    hanging.setHanging(true)
    let text = await fixture.service.metricsText()
    #expect(text.contains("\niampass_stock_readable 0\n"))
    #expect(text.contains("\niampass_requests_held 0\n"))
    // Whoever asks next does not have it asked again.
    let calls = hanging.calls
    _ = await fixture.service.metricsText()
    #expect(hanging.calls == calls)
    hanging.setHanging(false)
    while await !fixture.service.metricsText().contains("\niampass_stock_readable 1\n") {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  @Test func requestsAreTimedByRouteAndStatus() async throws {
    let fixture = try await Fixture()
    for path in ["/.well-known/iampass", "/.well-known/iampass", "/alice"] {
      _ = await fixture.service.respond(to: ServiceRequest(method: "GET", target: path, authority: "localhost"))
    }
    let text = await fixture.service.metricsText()
    for (labels, count) in [(#"route="published",status="2xx""#, 2), (#"route="other",status="4xx""#, 1)] {
      #expect(text.contains("\niampass_request_seconds_bucket{\(labels),le=\"+Inf\"} \(count)\n"), "\(labels)")
      #expect(text.contains("\niampass_request_seconds_count{\(labels)} \(count)\n"), "\(labels)")
    }
    #expect(!text.contains("alice"))
  }

  @Test func aHistogramCountsEachSpanWithThoseBefore() {
    let histogram = Histogram()
    for milliseconds in [0, 1, 2, 700, 60_000] { histogram.note(.milliseconds(milliseconds)) }
    var text = OpenMetricsText()
    text.histogram("x_seconds", "X.", [([("a", "b")], histogram.noted)])
    let lines = text.finished.split(separator: "\n")
    for line in [
      #"x_seconds_bucket{a="b",le="0.001"} 2"#, #"x_seconds_bucket{a="b",le="0.005"} 3"#,
      #"x_seconds_bucket{a="b",le="0.5"} 3"#, #"x_seconds_bucket{a="b",le="1.0"} 4"#,
      #"x_seconds_bucket{a="b",le="10.0"} 4"#, #"x_seconds_bucket{a="b",le="+Inf"} 5"#, #"x_seconds_count{a="b"} 5"#,
      #"x_seconds_sum{a="b"} 60.703000"#,
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
  }

  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases)
  func waitsForTheDatabaseAreTimed(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    _ = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let text = await fixture.service.patientMetrics()
    for kind in ["read", "write", "nonce"] {
      let count = try #require(number("iampass_storage_wait_seconds_count{kind=\"\(kind)\"}", in: text), "\(kind)")
      #expect(count > 0, "\(kind)")
      #expect(number("iampass_storage_shed_total{kind=\"\(kind)\"}", in: text) == 0, "\(kind)")
    }
    // Phones may be rung just now: that reads.
    var later = text
    while ["read", "write", "nonce"].contains(where: {
      number("iampass_storage_waiting{kind=\"\($0)\"}", in: later) != 0
    }) {
      later = await fixture.service.patientMetrics()
    }
    // One file has no other servers.
    let locks = number("iampass_storage_lock_seconds_count", in: text)
    #expect(engine == .sqlite ? locks == nil : (locks ?? 0) > 0)
  }

  private func number(_ sample: String, in text: String) -> Int? {
    text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }.flatMap { Int($0.dropFirst(sample.count + 1)) }
  }
}
