/// A database with its transactions. The operations of the service and its commands are written once, in the extensions
/// of this folder. An engine's own folder has its connections, locks and migrations, and the few operations that
/// differ.
public protocol StorageEngine: OperatorStore {
  associatedtype Transaction: StorageTransaction

  var clock: StorageClock { get }

  /// Runs `work` on one consistent view.
  func read<Value: Sendable>(_ work: @escaping @Sendable (Transaction) throws -> Value) async throws -> Value

  /// Runs `work` with one question, which needs no transaction for a consistent view.
  func readOnce<Value: Sendable>(_ work: @escaping @Sendable (Transaction) throws -> Value) async throws -> Value

  /// Runs `work` in one transaction, which is on the disk when this returns.
  func write<Value: Sendable>(_ work: @escaping @Sendable (Transaction) throws -> Value) async throws -> Value

  /// The same for work that changes no session but those that `changed` finds in its result, and neither their answers
  /// nor their users.
  ///
  /// - Parameter changed: the ids; nil: any session may have changed.
  func write<Value: Sendable>(
    changing changed: @escaping @Sendable (Value) -> [String]?,
    _ work: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Value

  /// Runs `work` in one transaction that a power cut may undo, until the next ``write(_:)`` brings it to the disk. It
  /// is for changes that matter only together with a later one.
  func writeWithoutSync<Value: Sendable>(_ work: @escaping @Sendable (Transaction) throws -> Value) async throws
    -> Value
}

extension StorageEngine {
  /// An engine that keeps no copies of sessions does not ask which have changed.
  public func write<Value: Sendable>(
    changing changed: @escaping @Sendable (Value) -> [String]?,
    _ work: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Value {
    try await write(work)
  }
}

/// The operations of an engine that only the service needs.
protocol ServiceEngine: StorageEngine, ServiceStorage {
  /// The keys of sessions whose clients asked recently.
  var sessionKeys: Remembered<SessionKeys> { get }
  /// By application and user's name.
  var startGuesses: Remembered<StartGuess> { get }

  /// Uses a nonce, together with all others that wait by then.
  func useNonce(_ nonceUse: NonceUse) async throws -> NonceUse.Outcome
}
