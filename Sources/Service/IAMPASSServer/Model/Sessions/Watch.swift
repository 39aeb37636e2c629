import NIOCore
import NIOPosix
import Synchronization

extension ChangeBoard {
  /// The wait of one held request. It ends when it is released.
  final class Watch: Sendable {
    private let signal: Signal
    private let release: @Sendable () -> Void

    init(_ signal: Signal, release: @escaping @Sendable () -> Void) {
      self.signal = signal
      self.release = release
    }

    deinit { release() }

    /// Ends the wait, because the client has gone.
    func abandon() { signal.finish() }

    /// Calls `action` once the service does not wait any longer for looks at the storage: at once if that is so already.
    func onGivingUp(_ action: @escaping @Sendable () -> Void) { signal.onGivingUp(action) }

    /// Why a wait has ended.
    enum Wake: Sendable {
      /// Something may have changed.
      case change
      case time
      /// The client has gone, the service stops, or the task was cancelled.
      case end
    }

    /// Returns at the next change, after `milliseconds`, or at once if the wait has ended. Only one task may wait at a
    /// time.
    ///
    /// - Returns: false at the end.
    func wait(milliseconds: Int64) async -> Bool { await wake(milliseconds: milliseconds) != .end }

    /// Waits as ``wait(milliseconds:)`` does, and returns why the wait is over.
    func wake(milliseconds: Int64) async -> Wake {
      // Thousands of requests wait. A task for each one's time would cost a kilobyte each.
      let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: .milliseconds(max(milliseconds, 0))) {
        [signal] in signal.tellTime()
      }
      defer { timer.cancel() }
      return await signal.taken()
    }
  }
}

extension ChangeBoard.Watch {
  /// A signal to look again. Several signals count as one.
  final class Signal: Sendable {
    fileprivate typealias Wake = ChangeBoard.Watch.Wake

    private struct State {
      var isGiven = false
      var isTimeUp = false
      var isFinished = false
      var isGivenUp = false
      var onGivingUp: (@Sendable () -> Void)?
      var waiter: CheckedContinuation<Wake, Never>?

      /// Why the waiting task is woken; nil if there was no event.
      var wake: Wake? { isGiven ? .change : isTimeUp ? .time : isFinished ? .end : nil }
    }

    private let state = Mutex(State())

    func give() { change { $0.isGiven = true } }

    fileprivate func tellTime() { change { $0.isTimeUp = true } }

    /// Ends the wait. An earlier signal is still taken.
    func finish() { change { $0.isFinished = true } }

    /// Gives up the look that may follow the end.
    func giveUp() {
      let action = state.withLock { state in
        state.isGivenUp = true
        defer { state.onGivingUp = nil }
        return state.onGivingUp
      }
      action?()
    }

    fileprivate func onGivingUp(_ action: @escaping @Sendable () -> Void) {
      let isGivenUp = state.withLock { state in
        if !state.isGivenUp { state.onGivingUp = action }
        return state.isGivenUp
      }
      if isGivenUp { action() }
    }

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
