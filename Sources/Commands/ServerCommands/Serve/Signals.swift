import CommandSupport
import Dispatch
import Glibc

/// Waits for signals. After `init` none is lost, because a handler writes each to a pipe at once.
///
/// Dispatch's own source of signals does not serve: it gets them only some time after it was resumed.
struct Signals {
  let arrivals: AsyncStream<Void>
  private let source: any DispatchSourceRead

  /// - Parameters:
  ///   - numbers: the signals. A later object that takes the same one gets it alone.
  ///   - beginStop: whether they begin a stop, which ``StopBound`` bounds from the signal on, also if no thread is free to
  ///     take it.
  /// - Throws: if the process has no descriptor left.
  init(_ numbers: [Int32], beginStop: Bool = false) throws(CommandProblem) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .noSignals(errno) }
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    let (reader, writer) = (ends[0], ends[1])
    let (arrivals, sender) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.arrivals = arrivals
    source = DispatchSource.makeReadSource(fileDescriptor: reader)
    source.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: 64)
      while read(reader, &bytes, bytes.count) > 0 {}
      sender.yield()
    }
    source.resume()
    for number in numbers {
      pipes[Int(number)] = writer
      beginningStop[Int(number)] = beginStop
      signal(number, remember)
    }
  }

  /// Returns when one of the signals comes, at once if one came since `init`.
  func first() async {
    for await _ in arrivals { break }
    // A source without an owner gets no events.
    withExtendedLifetime(source) {}
  }

  /// The same, but waits at most `seconds`.
  func first(within seconds: Int64) async {
    let arrivals = arrivals
    await withTaskGroup { group in
      group.addTask { for await _ in arrivals { break } }
      group.addTask { try? await Task.sleep(for: .seconds(seconds)) }
      await group.next()
      group.cancelAll()
    }
    withExtendedLifetime(source) {}
  }
}

/// The write end of the pipe for each signal, stored before its handler is set. A Swift array could allocate, which a
/// handler must not do.
nonisolated(unsafe) private let pipes = UnsafeMutablePointer<Int32>.allocate(capacity: 65)

/// The same for whether a signal begins a stop.
nonisolated(unsafe) private let beginningStop = UnsafeMutablePointer<Bool>.allocate(capacity: 65)

/// signal-safety(7) lists the functions that a handler may call.
private let remember: @convention(c) (Int32) -> Void = { number in
  if beginningStop[Int(number)] { StopBound.beginBySignal() }
  let kept = errno
  var byte: UInt8 = 0
  _ = write(pipes[Int(number)], &byte, 1)
  errno = kept
}
