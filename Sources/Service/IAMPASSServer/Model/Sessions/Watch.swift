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

    /// Why a wait is over.
    enum Wake: Sendable {
      /// Something may have changed.
      case change
      case time
      /// The client has gone, the service stops, or the task was cancelled.
      case end
    }

    /// Returns at the next change, after `milliseconds`, or at once when there is nothing more to wait for. One task waits
    /// at a time.
    ///
    /// - Returns: false at the end.
    func wait(milliseconds: Int64) async -> Bool { await wake(milliseconds: milliseconds) != .end }

    /// The same, and says why.
    func wake(milliseconds: Int64) async -> Wake {
      // Thousands wait: a task of its own for the time would cost each of them a kilobyte.
      let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: .milliseconds(max(milliseconds, 0))) {
        [signal] in signal.tellTime()
      }
      defer { timer.cancel() }
      return await signal.taken()
    }
  }
}

extension ChangeBoard.Watch {
  /// One signal says as much as many: look again.
  final class Signal: Sendable {
    fileprivate typealias Wake = ChangeBoard.Watch.Wake

    private struct State {
      var isGiven = false
      var isTimeUp = false
      var isFinished = false
      var waiter: CheckedContinuation<Wake, Never>?

      /// Why whoever waits is woken; nil if nothing has happened.
      var wake: Wake? { isGiven ? .change : isTimeUp ? .time : isFinished ? .end : nil }
    }

    private let state = Mutex(State())

    func give() { change { $0.isGiven = true } }

    fileprivate func tellTime() { change { $0.isTimeUp = true } }

    /// A signal that was given before is still taken.
    func finish() { change { $0.isFinished = true } }

    /// Waits for a signal, and takes it.
    fileprivate func taken() async -> Wake {
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
      let woken = state.withLock { state -> (waiter: CheckedContinuation<Wake, Never>, wake: Wake)? in
        work(&state)
        guard let waiter = state.waiter, let wake = state.wake else { return nil }
        (state.waiter, state.isGiven, state.isTimeUp) = (nil, false, false)
        return (waiter, wake)
      }
      if let woken { woken.waiter.resume(returning: woken.wake) }
    }
  }
}
