import Dispatch
import Glibc

/// Signals as something to wait for.
struct Signals {
  let arrivals: AsyncStream<Void>
  private let sources: [any DispatchSourceSignal]

  init(_ numbers: [Int32]) {
    let (arrivals, sender) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.arrivals = arrivals
    sources = numbers.map { number in
      // The default would end the process before the source hears of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { sender.yield() }
      source.resume()
      return source
    }
    // A client that goes away while it is written to must not end the service.
    signal(SIGPIPE, SIG_IGN)
  }

  func first() async {
    for await _ in arrivals { break }
    withExtendedLifetime(sources) {}
  }
}
