/// A database with its transactions. What the service and its commands do in them is written once, in the extensions of
/// this folder; an engine's own folder has its connections, locks and migrations, and the few operations that differ.
public protocol StorageEngine: OperatorStore {
  associatedtype Work: StorageWork

  var clock: StorageClock { get }

  /// One consistent view.
  func read<Value: Sendable>(_ work: @escaping @Sendable (Work) throws -> Value) async throws -> Value

  /// One question: it needs no transaction for a consistent view.
  func glance<Value: Sendable>(_ work: @escaping @Sendable (Work) throws -> Value) async throws -> Value

  /// One transaction, on the disk when this returns.
  func write<Value: Sendable>(_ work: @escaping @Sendable (Work) throws -> Value) async throws -> Value

  /// One transaction that a power cut may undo, until the next ``write(_:)``, which brings it to the disk. For what means
  /// nothing without a change that follows it.
  func note<Value: Sendable>(_ work: @escaping @Sendable (Work) throws -> Value) async throws -> Value
}

/// What the service alone needs of an engine.
protocol ServiceEngine: StorageEngine, ServiceStorage {
  var sessionKeys: KnownSessionKeys { get }

  /// Spends a nonce, together with all others that wait by then.
  func spend(_ spending: Spending) async throws -> Spending.Outcome
}
