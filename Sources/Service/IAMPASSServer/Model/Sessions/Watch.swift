import NIOCore
import NIOPosix
import Synchronization

extension ChangeBoard {
  /// What one held request waits on. It ends when it is dropped.
  final class Watch: Sendable {
    private let signal: Signal
    private let release: @Sendable () -> Void

    init(_ signal: Signal, release: @escaping @Sendable () -> Void) {
      self.signal = signal
      self.release = release
    }

    deinit { release() }

    /// No more waiting: the client has gone.
    func abandon() { signal.finish() }

    /// Returns at the next change, after `milliseconds`, or at once when there is nothing more to wait for. One task waits
    /// at a time.
    ///
    /// - Returns: false if the client has gone, the service stops, or the task was cancelled.
    func wait(milliseconds: Int64) async -> Bool {
      // Thousands wait: a task of its own for the time would cost each of them a kilobyte.
      let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: .milliseconds(max(milliseconds, 0))) {
        [signal] in signal.give()
      }
      defer { timer.cancel() }
      return await signal.taken()
    }
  }
}

extension ChangeBoard.Watch {
  /// One signal says as much as many: look again.
  final class Signal: Sendable {
    private struct State {
      var isGiven = false
      var isFinished = false
      var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    func give() { change { $0.isGiven = true } }

    /// A signal that was given before is still taken.
    func finish() { change { $0.isFinished = true } }

    /// Waits for a signal, and takes it.
    ///
    /// - Returns: false if it was finished instead, or the task was cancelled.
    fileprivate func taken() async -> Bool {
      await withTaskCancellationHandler {
        await withCheckedContinuation { waiter in
          change { state in
            precondition(state.waiter == nil, "two tasks wait on one watch")
            state.waiter = waiter
          }
        }
      } onCancel: {
        finish()
      }
    }

    private func change(_ work: (inout State) -> Void) {
      let (waiter, isGiven) = state.withLock { state -> (CheckedContinuation<Bool, Never>?, Bool) in
        work(&state)
        guard let waiter = state.waiter, state.isGiven || state.isFinished else { return (nil, false) }
        defer { (state.waiter, state.isGiven) = (nil, false) }
        return (waiter, state.isGiven)
      }
      waiter?.resume(returning: isGiven)
    }
  }
}
