import ArgumentParser
import Dispatch
import Glibc
import IAMPASSProtocol
import IAMPASSServer
import Logging

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the service until SIGTERM or SIGINT; SIGHUP has it read its certificate again.")

  /// Seconds for the replies at work; with all else the service is gone within 2 s.
  private static let drainTime = 1.0
  private static let closeTime = 500

  @Option(help: ArgumentHelp("The data directory; made where it is missing.", valueName: "dir"), completion: .directory)
  var data: String

  @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "address:port"))
  var listen: String

  @Option(help: ArgumentHelp("The certificate with its chain, in PEM.", valueName: "file"), completion: .file())
  var tlsCert: String

  @Option(help: ArgumentHelp("The certificate's private key, in PEM.", valueName: "file"), completion: .file())
  var tlsKey: String

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp(
      "The address that clients use. Needed where --listen is not on loopback alone.",
      valueName: "url"))
  var publicURL: String?

  @Option(
    help: ArgumentHelp(
      "Seconds that a client's question is held until its answer changes, 0 to 60; 0 where a proxy holds no requests.",
      valueName: "seconds"))
  var longestWait = Service.usualWait

  @Option(
    name: .customLong("push-ca"),
    help: ArgumentHelp(
      "The authority of a push service of your own, in PEM: no other is used then. Else the browsers' own are.",
      valueName: "file"), completion: .file())
  var pushAuthority: String?

  @Option(
    help: ArgumentHelp(
      "Also serve /metrics and /healthz here, without TLS, to everybody who gets there.",
      valueName: "address:port"))
  var metricsListen: String?

  @Option(
    help: ArgumentHelp(
      "A proxy's address, whose X-Forwarded-For says who sends a request; may be given more than once.",
      valueName: "address"))
  var trustedProxy: [String] = []

  @Option(
    help: ArgumentHelp(
      "The folder of the programs that may send registration links; root's alone to write.", valueName: "dir"),
    completion: .directory)
  var programs = Service.usualPrograms

  @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
  var logLevel = "info"

  enum LogFormat: String, ExpressibleByArgument, CaseIterable { case text, json }

  @Option(help: ArgumentHelp("text, or json: one object a line.", valueName: "format"))
  var logFormat = LogFormat.text

  func validate() throws {
    guard (0...Service.usualWait).contains(longestWait) else {
      throw ValidationError("--longest-wait takes 0 to \(Service.usualWait)")
    }
  }

  func run() async throws {
    let logger = try makeLogger()
    Limits.raiseDescriptors()
    if !Limits.forbidDumps() { logger.warning("core dumps could not be forbidden: they would hold secrets") }
    // The default would end the service, which may be told before it listens.
    signal(SIGHUP, SIG_IGN)
    let (host, port) = try ListenAddress.parts(of: listen)
    let metricsAddress = try metricsListen.map { text throws(Problem) in try ListenAddress.parts(of: text) }
    let publicURL = try publicURL.map(ServerURL.init(ofOption:))
    // Else whoever gets here chooses by what name: where links lead, and what a signature is over.
    guard publicURL != nil || ListenAddress.isLoopback(host) else { throw Problem.noPublicURL(listen) }
    let proxies = try trustedProxy.map { text in
      guard let address = PeerAddress(text) else { throw Problem.badProxy(text) }
      return address
    }
    try await explaining {
      let tls = try TLSFiles(certificate: tlsCert, key: tlsKey)
      let storage = try Storage(folder: data)
      try storage.checkWhole()
      if try await storage.beginWithCopy() {
        logger.warning(
          "a copy of the database was put back",
          metadata: ["hint": "phones cut off and credentials revoked since it was made are taken again"])
      }
      let service = Service(
        storage: storage, publicURL: publicURL, longestWait: longestWait,
        pushTrust: try PushTrust(authority: pushAuthority), proxies: TrustedProxies(proxies), programs: programs,
        logger: logger,
        certificateEnd: { tls.end })
      if let problem = service.pageProblem(certificate: trustedProxy.isEmpty ? tlsCert : nil) {
        logger.warning(
          "phones need a DNS name and a certificate that they trust to open the page",
          metadata: [
            "problem": "\(problem)",
            "hint": "--public-url https://NAME, and a certificate for it by an authority that phones know",
          ])
      }
      let server = HTTPServer(service: service, logger: logger)
      let known = publicURL.map(\.description)
      // Before anybody reads that it listens: a signal that came before would be ignored.
      let stopping = Signals([SIGTERM, SIGINT])
      let serving = Task {
        try await withThrowingTaskGroup { group in
          group.addTask {
            try await serve(server, host: host, port: port, tls: tls, logger: logger) { port in
              let address = known ?? ListenAddress.usual(host: host, port: port)
              Task {
                try? await storage.setServiceAddress(address)
                try? await storage.setPublicAddress(known)
              }
            }
          }
          if let metricsAddress {
            let metrics = MetricsServer(service: service, logger: logger)
            group.addTask { try await serve(metrics, metricsAddress, logger: logger) }
          }
          defer { group.cancelAll() }
          // Where one cannot listen, the other does not go on alone.
          try await group.next()
        }
      }
      let housekeeping = Task {
        async let certificates: Void = tls.keepFresh(logger: logger)
        await service.keepHouse()
        await certificates
      }
      renewOnSignal(tls, logger: logger)
      stopOnSignal(stopping, server, [serving.cancel, housekeeping.cancel], logger: logger)
      try await serving.value
      try? storage.close()
    }
  }

  private func serve(
    _ server: HTTPServer, host: String, port: Int, tls: TLSFiles, logger: Logger,
    onListening: @escaping @Sendable (Int) -> Void
  ) async throws {
    let shown = host.contains(":") ? "[\(host)]" : host
    do {
      try await server.run(host: host, port: port, tls: tls.configuration) { port in
        logger.notice("listening on https://\(shown):\(port)")
        onListening(port)
      }
    } catch is CancellationError {
      return
    } catch {
      throw Problem.notListening(on: listen, option: "--listen", detail: "\(error)")
    }
  }

  private func serve(_ metrics: MetricsServer, _ address: (host: String, port: Int), logger: Logger) async throws {
    let shown = address.host.contains(":") ? "[\(address.host)]" : address.host
    do {
      try await metrics.run(host: address.host, port: address.port) { port in
        logger.notice("metrics on http://\(shown):\(port)/metrics")
      }
    } catch is CancellationError {
      return
    } catch {
      throw Problem.notListening(on: metricsListen ?? "", option: "--metrics-listen", detail: "\(error)")
    }
  }

  private func renewOnSignal(_ tls: TLSFiles, logger: Logger) {
    let signals = Signals([SIGHUP])
    Task {
      // A source that nobody holds hears nothing.
      defer { withExtendedLifetime(signals) {} }
      for await _ in signals.arrivals where tls.renew(logger: logger) == .unchanged {
        logger.notice("the certificate has not changed", metadata: ["file": "\(tlsCert)"])
      }
    }
  }

  private func stopOnSignal(
    _ signals: sending Signals, _ server: HTTPServer, _ cancels: [@Sendable () -> Void], logger: Logger
  ) {
    Task {
      await signals.first()
      logger.notice("stopping")
      await server.drain(seconds: Self.drainTime)
      for cancel in cancels { cancel() }
      // An idle client could hold the listener's end for seconds; everything said is on disk.
      try? await Task.sleep(for: .milliseconds(Self.closeTime))
      Glibc.exit(0)
    }
  }

  private func makeLogger() throws -> Logger {
    guard let level = Logger.Level(rawValue: logLevel) else { throw Problem.badLogLevel(logLevel) }
    let format = logFormat
    var logger = Logger(label: "iampass-server") { label -> any LogHandler in
      switch format {
      case .text: TextLog(label: label)
      case .json: JSONLog()
      }
    }
    logger.logLevel = level
    return logger
  }
}

/// `ADDRESS:PORT`, with an IPv6 address in brackets.
enum ListenAddress {
  static func parts(of text: String) throws(Problem) -> (host: String, port: Int) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw .badListen(text)
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw .badListen(text)
    }
    guard !host.isEmpty else { throw .badListen(text) }
    return (String(host), Int(port))
  }
}

extension ServerURL {
  /// What `--public-url` says.
  init(ofOption text: String) throws(Problem) {
    do { try self.init(text) } catch { throw .badPublicURL(text) }
  }
}

extension ListenAddress {
  /// Whether only this computer itself gets there.
  static func isLoopback(_ host: String) -> Bool { host == "localhost" || PeerAddress(host)?.isLoopback == true }

  /// How a browser of this computer gets there.
  static func usual(host: String, port: Int) -> String {
    let everywhere = ["0.0.0.0", "::"]
    let name = everywhere.contains(host) ? "localhost" : host.contains(":") ? "[\(host)]" : host
    return "https://\(name):\(port)"
  }
}

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

/// The process's own limits.
enum Limits {
  /// As many descriptors as the system allows: each held request over HTTP/1.1 is a connection.
  static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// A dump would hold everybody's secrets. By the limit, since who may not be dumped may not read his own /proc either,
  /// where the metrics come from; of one byte, since Linux heeds a limit of none for files only, and one of 1 also where
  /// dumps go to a program (core(5)).
  ///
  /// - Returns: whether that worked; not where the service was given a limit of none, which it may not raise.
  static func forbidDumps() -> Bool {
    var least = rlimit(rlim_cur: 1, rlim_max: 1)
    return setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &least) == 0
  }
}
