import DeviceProtocol
import IAMPASSProtocol
import Synchronization

@testable import IAMPASSServer

/// A storage that loses its connection at one call: before the call reaches the engine, or after the engine has done it,
/// when the reply is lost. Then nobody knows whether it was done.
final class LosingStorage: ServiceStorage {
  enum Moment: String, CaseIterable, Sendable { case before, after }
  struct ConnectionLost: Error {}

  private struct State {
    var calls = 0
    var lost: String?
    var isDown = false
    var isHanging = false
    var anonymous: Set<String> = []
  }

  let inner: any ServiceStorage
  private let moment: Moment
  private let number: Int
  private let waiting: @Sendable (_ name: String) async -> Void
  let remembersKeys: Bool
  private let state = Mutex(State())

  /// - Parameters:
  ///   - number: of the call at which the connection is lost, from 0.
  ///   - remembersKeys: whether it has the keys of the sessions that it started, as the server that started them.
  ///   - waiting: how long a call waits before it is done.
  init(
    _ inner: any ServiceStorage, losing number: Int, _ moment: Moment, remembersKeys: Bool = true,
    waiting: @escaping @Sendable (_ name: String) async -> Void = { _ in }
  ) {
    self.waiting = waiting
    self.remembersKeys = remembersKeys
    self.inner = inner
    self.number = number
    self.moment = moment
  }

  /// Loses every connection from now on, or gives them back.
  func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

  /// Has every call wait from now on, until this ends.
  func setHanging(_ isHanging: Bool) { state.withLock { $0.isHanging = isHanging } }

  var calls: Int { state.withLock(\.calls) }

  /// The calls of whom nobody knows who asked.
  var anonymous: Set<String> { state.withLock(\.anonymous) }

  /// The call at which the connection was lost; nil while it has not been.
  var lost: String? { state.withLock(\.lost) }

  func call<Value>(
    _ name: String = #function, _ work: (any ServiceStorage) async throws -> Value
  ) async throws -> Value {
    let (isLost, isDown) = state.withLock { state in
      defer { state.calls += 1 }
      if AuditActor.current == nil { state.anonymous.insert(name) }
      if state.calls == number { state.lost = name }
      return (state.calls == number, state.isDown)
    }
    while state.withLock(\.isHanging) { try? await Task.sleep(for: .milliseconds(5)) }
    if isDown || isLost && moment == .before { throw ConnectionLost() }
    await waiting(name)
    let value = try await work(inner)
    if isLost { throw ConnectionLost() }
    return value
  }

  var clock: StorageClock { inner.clock }
  var alarm: StorageAlarm { inner.alarm }
  var load: StorageLoad { inner.load }
  func trouble(behind error: any Error) -> StorageTrouble {
    error is ConnectionLost ? .other : inner.trouble(behind: error)
  }
}

// HousekeepingStore.
extension LosingStorage {
  func keepTime() async throws {
    try await call { try await $0.keepTime() }
  }

  func forgetOld(_ kind: Forgettable, at now: UnixTime, wall: UnixTime) async throws -> Bool {
    try await call { try await $0.forgetOld(kind, at: now, wall: wall) }
  }

  func sealProblem() async throws -> SealFault? {
    try await call { try await $0.sealProblem() }
  }

  func stock() async throws -> StorageStock {
    try await call { try await $0.stock() }
  }

  func answer() async throws {
    try await call { try await $0.answer() }
  }

  func auditEntries(after id: Int64, limit: Int) async throws -> [AuditEntry] {
    try await call { try await $0.auditEntries(after: id, limit: limit) }
  }

  func keptAnswers(after id: Int64, limit: Int) async throws -> [(id: Int64, jsonLine: String)] {
    try await call { try await $0.keptAnswers(after: id, limit: limit) }
  }

  func newestAuditEntries(before id: Int64?, limit: Int) async throws -> [AuditEntry] {
    try await call { try await $0.newestAuditEntries(before: id, limit: limit) }
  }
}
