import Testing

@testable import IAMPASSServer

@Suite struct StorageAlarmTests {
  private let alarm = StorageAlarm()
  private let start = UnixTime(seconds: 1_800_000_000)

  @Test func tellsAFailureThatGoesOnOnceAMinute() {
    #expect(alarm.failed(.full, at: start) == 1)
    for second in 1..<60 { #expect(alarm.failed(.full, at: start.advanced(seconds: Int64(second))) == nil) }
    #expect(alarm.failed(.full, at: start.advanced(seconds: 60)) == 60)
  }

  @Test func tellsTheEndOnce() {
    alarm.wrote()
    #expect(!alarm.takeEnd())
    _ = alarm.failed(.locked, at: start)
    #expect(!alarm.takeEnd())
    alarm.wrote()
    #expect(alarm.takeEnd())
    #expect(!alarm.takeEnd())
  }

  @Test func doesNotTakeWhatWorksElsewhereForTheEndOfADamage() {
    _ = alarm.failed(.damaged, at: start)
    alarm.wrote()
    #expect(!alarm.takeEnd())
  }

  @Test(arguments: StorageEngine.allCases)
  func whatFailsOnceTheStorageIsClosedIsNotAFailureOfIt(_ engine: StorageEngine) async throws {
    let fixture = try await StorageFixture(engine)
    try #require(fixture.storage as? any OperatorStore).close()
    if engine == .sqlite {
      await #expect(throws: (any Error).self) { try await fixture.addUser() }
    }
    #expect(fixture.storage.alarm.failed(.other, at: start) == nil)
  }

  @Test func anAbandonedRequestIsNotAFailure() async throws {
    let fixture = try await Fixture()
    let request = try fixture.signed(
      "GET", "/management/has_registered_mobile_device/\(fixture.application.id)/alice")
    let left = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await fixture.respond(request)
    }
    #expect(await left.value.status == 503)
    #expect(await fixture.service.patientMetrics().contains("\niampass_storage_failures_total 0\n"))
  }
}
