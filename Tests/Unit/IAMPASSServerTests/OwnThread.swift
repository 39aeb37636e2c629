import Foundation

/// What `work` returns, in a thread of its own. Work that waits for tasks would otherwise keep a thread from them, and two
/// such tests all threads of a machine with two processors.
func inAThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { waiting in
    Thread { waiting.resume(with: Result { try work() }) }.start()
  }
}
