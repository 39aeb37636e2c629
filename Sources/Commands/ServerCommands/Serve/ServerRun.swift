import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer
import Logging
import ProgramPages

/// The running service: its listeners and housekeeping, from the start until a signal stops them.
struct ServerRun: Sendable {
  /// The longest drain delay in seconds. The packaged unit waits longer than this for the end.
  static let longestDrainDelay: Int64 = 60
  /// The time for running replies, in seconds.
  private static let drainTime = 1.0
  /// The size in bytes from which the allocator maps separate blocks. TLS keeps three times as much for each
  /// connection, and uses little of it.
  private static let largeBlock = 16_384
  /// The time between two returns of free memory to the kernel, in seconds.
  private static let heapInterval = 30
  /// How long after the drain delay the service has stopped in any case, in seconds.
  private static let stopTime: Int64 = 3

  let service: SignInService
  let storage: any OperatorStore
  /// The storage whose file must be checked while the service runs; nil if it was checked.
  let unchecked: SQLiteStorage?
  /// The note of a clean stop for the next start; nil with PostgreSQL.
  let cleanStop: CleanStop?
  let tls: TLSFiles
  /// The file of the certificate, for the log.
  let certificate: String
  let addresses: ServeAddresses
  /// The time between the signal and the drain, in seconds, for proxies that read `/readyz` from time to time.
  let drainDelay: Int64
  let keptTimes: KeptTimes
  let logger: Logger
  private let systemd = SystemdNotice()

  /// Runs until the service ends or fails. A signal ends the process, and so does a newer server's change of the
  /// database.
  func run() async throws {
    iampass_map_large_blocks(Self.largeBlock)
    let server = HTTPServer(service: service, listener: addresses.main, logger: logger)
    StopBound.prepare(seconds: drainDelay + Self.stopTime)
    let stopping = try Signals([SIGTERM, SIGINT], beginStop: true)
    let renewing = try Signals([SIGHUP])
    let (listening, begun) = AsyncStream<Never>.makeStream()
    let serving = Task { try await serve(server, begun) }
    let housekeeping = Task {
      async let certificates: Void = tls.keepFresh(logger: logger)
      async let lists: Void = service.followUserLists()
      async let heap: Void = giveBackHeap()
      await service.doHousekeeping(keeping: keptTimes)
      await certificates
      await lists
      await heap
    }
    let following = Task { await service.followOtherServers() }
    showLife(of: server)
    let checking = Task {
      for await _ in listening {}
      if let unchecked, !Task.isCancelled { await service.checkFile(of: unchecked) }
    }
    let background = Background(cancels: [housekeeping.cancel, following.cancel], checking: checking)
    renewOnSignal(renewing)
    stopOnSignal(stopping, server, background)
    stopIfOutdated(following, server, background)
    try await serving.value
    following.cancel()
    // The reason was logged.
    if let refusal = await following.value { _exit(CommandProblem(refusal).exitCode) }
  }

  /// The tasks besides the listeners.
  private struct Background {
    let cancels: [@Sendable () -> Void]
    let checking: Task<Void, Never>

    /// Ends the tasks. The check releases the file at once.
    func end() async {
      for cancel in cancels { cancel() }
      checking.cancel()
      await checking.value
    }
  }

  private func serve(_ server: HTTPServer, _ begun: AsyncStream<Never>.Continuation) async throws {
    let coming = ListenersToCome(addresses.console == nil ? 1 : 2)
    let onListening: @Sendable (String?) -> Void = { status in
      guard let status = coming.isLast(status) else { return }
      systemd.ready(status)
      // The start needed many pages of the program that the work does not.
      iampass_give_back_pages()
      begun.finish()
    }
    try await withThrowingTaskGroup { group in
      group.addTask { try await listen(with: server, onListening) }
      if let console = addresses.console {
        group.addTask { try await listenForConsole(on: console, beside: server, onListening) }
      }
      if let address = addresses.metrics {
        let metrics = MetricsServer(service: service, logger: logger)
        group.addTask { try await listen(with: metrics, on: address) }
      }
      defer { group.cancelAll() }
      // If one of them cannot listen, the other ends too.
      try await group.next()
    }
  }

  private func listen(with server: HTTPServer, _ onListening: @escaping @Sendable (String?) -> Void) async throws {
    let address = addresses.listen
    try await listen(with: server, on: address, "--listen") { port in
      logger.notice("listening on https://\(address.urlHost):\(port)")
      remember(public: addresses.publicURL?.description)
      if addresses.console == nil {
        remember(forBrowsers: addresses.publicURL?.description ?? address.usualURL(port: port))
      }
      onListening("Serves on https://\(address.urlHost):\(port)")
    }
  }

  private func listenForConsole(
    on address: ListenAddress, beside server: HTTPServer, _ onListening: @escaping @Sendable (String?) -> Void
  ) async throws {
    let console = server.another(for: .console(url: addresses.consoleURL))
    try await listen(with: console, on: address, "--console-listen") { port in
      logger.notice("console on https://\(address.urlHost):\(port)/console")
      remember(forBrowsers: addresses.consoleURL?.description ?? address.usualURL(port: port))
      onListening(nil)
    }
  }

  /// - Parameter option: what names the address.
  private func listen(
    with server: HTTPServer, on address: ListenAddress, _ option: String,
    _ onListening: @escaping @Sendable (Int) -> Void
  ) async throws {
    do {
      try await server.run(
        host: address.host, port: address.port, tls: tls.configuration, onListening: onListening)
    } catch is CancellationError {
      return
    } catch {
      throw CommandProblem.notListening(on: address.text, option: option, detail: "\(error)")
    }
  }

  private func listen(with metrics: MetricsServer, on address: ListenAddress) async throws {
    do {
      try await metrics.run(host: address.host, port: address.port) { port in
        logger.notice("metrics on http://\(address.urlHost):\(port)/metrics")
      }
    } catch is CancellationError {
      return
    } catch {
      throw CommandProblem.notListening(on: address.text, option: "--metrics-listen", detail: "\(error)")
    }
  }

  /// Sends systemd signs of life while requests are served, until the process ends.
  private func showLife(of server: HTTPServer) {
    guard let pause = systemd.pause else { return }
    Task {
      while true {
        await server.servesRequests()
        systemd.alive()
        try? await Task.sleep(for: pause)
      }
    }
  }

  /// Returns free memory to the kernel. Thousands of connections that begin at once fragment the heap with handshakes
  /// and first requests.
  private func giveBackHeap() async {
    while !Task.isCancelled {
      try? await Task.sleep(for: .seconds(Self.heapInterval))
      iampass_give_back_heap()
    }
  }

  /// For the commands beside the service, which make links for phones and computers.
  private func remember(public address: String?) {
    remember(address) { try await storage.setPublicAddress(address) }
  }

  /// For the commands beside the service, which make links to the console.
  private func remember(forBrowsers address: String) {
    remember(address) { try await storage.setServiceAddress(address) }
  }

  private func remember(_ address: String?, _ store: @escaping @Sendable () async throws -> Void) {
    Task {
      do {
        try await store()
      } catch {
        logger.warning(
          "the commands that make links do not learn the service's address: the storage failed",
          metadata: ["address": "\(address ?? "-")", "error": "\(DisplayText.sanitized("\(error)"))"])
      }
    }
  }

  private func renewOnSignal(_ signals: sending Signals) {
    Task {
      // A source without an owner gets no events.
      defer { withExtendedLifetime(signals) {} }
      for await _ in signals.arrivals where tls.renew(logger: logger) == .unchanged {
        logger.notice("the certificate has not changed", metadata: ["file": "\(certificate)"])
      }
    }
  }

  private func stopOnSignal(
    _ signals: sending Signals, _ server: HTTPServer, _ background: Background
  ) {
    Task {
      await signals.first()
      service.announceStop()
      systemd.stopping(drainDelay > 0 ? "Stops in \(drainDelay) seconds" : "Stops")
      if drainDelay > 0 {
        logger.notice("stopping in \(drainDelay) seconds: /readyz says so, and another signal stops at once")
        await signals.first(within: drainDelay)
        StopBound.hurry(seconds: Self.stopTime)
      }
      logger.notice("stopping")
      await stop(server, background, exitCode: 0)
    }
  }

  private func stopIfOutdated(
    _ following: Task<StorageError?, Never>, _ server: HTTPServer, _ background: Background
  ) {
    Task {
      guard let refusal = await following.value else { return }
      StopBound.begin(seconds: Self.stopTime, exitCode: EX_CONFIG)
      let problem = CommandProblem(refusal)
      systemd.stopping("Stops: \(problem.message)")
      logger.critical("stopping: \(problem.message)", metadata: problem.hint.map { ["hint": "\($0)"] } ?? [:])
      await stop(server, background, exitCode: problem.exitCode)
    }
  }

  /// Stops the service. The listeners end with the process. If they were cancelled, NIO would trap on a new connection,
  /// and an idle client could delay them for seconds.
  private func stop(_ server: HTTPServer, _ background: Background, exitCode: Int32) async {
    await server.drain(seconds: Self.drainTime)
    await background.end()
    // Everything that was confirmed is on the disk.
    do {
      try storage.close()
      // A damaged file must not be served again without a check.
      if !service.isFileDamaged { cleanStop?.leave() }
    } catch {
      logger.notice("the next start checks the whole database", metadata: ["error": "\(error)"])
    }
    _exit(exitCode)
  }
}
