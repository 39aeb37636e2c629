import ArgumentParser
import Dispatch
import Glibc
import IAMPASSProtocol
import IAMPASSServer
import Logging

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the service until SIGTERM or SIGINT.")

  /// Seconds for the replies at work; with all else the service is gone within 2 s.
  private static let drainTime = 1.0
  private static let closeTime = 500

  @Option(help: ArgumentHelp("The data directory; made where it is missing.", valueName: "dir"))
  var data: String

  @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "address:port"))
  var listen: String

  @Option(help: ArgumentHelp("The certificate with its chain, in PEM.", valueName: "file"))
  var tlsCert: String

  @Option(help: ArgumentHelp("The certificate's private key, in PEM.", valueName: "file"))
  var tlsKey: String

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp(
      "The address that clients use, where a proxy stands before the service. Else https and the host they name.",
      valueName: "url"))
  var publicURL: String?

  @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
  var logLevel = "info"

  func run() async throws {
    let logger = try makeLogger()
    let (host, port) = try ListenAddress.parts(of: listen)
    let publicURL = try publicURL.map { text in
      guard let url = try? ServerURL(text) else { throw Problem.badPublicURL(text) }
      return url
    }
    try await explaining {
      let tls = try TLSFiles.configuration(certificate: tlsCert, key: tlsKey)
      let storage = try Storage(folder: data)
      let service = Service(storage: storage, publicURL: publicURL, logger: logger)
      let server = HTTPServer(service: service, logger: logger)
      let stop = StopSignals()
      let shown = host.contains(":") ? "[\(host)]" : host
      let serving = Task {
        do {
          try await server.run(host: host, port: port, tls: tls) { port in
            logger.notice("listening on https://\(shown):\(port)")
          }
        } catch is CancellationError {
          return
        } catch {
          throw ServerError(code: .addressRefused, subject: listen, detail: "\(error)")
        }
      }
      let housekeeping = Task { await service.keepHouse() }
      let stopping = Task {
        await stop.first()
        logger.notice("stopping")
        await server.drain(seconds: Self.drainTime)
        housekeeping.cancel()
        serving.cancel()
        // An idle client could hold the listener's end for seconds; everything said is on disk.
        try? await Task.sleep(for: .milliseconds(Self.closeTime))
        Glibc.exit(0)
      }
      try await serving.value
      stopping.cancel()
      try? storage.close()
    }
  }

  private func makeLogger() throws -> Logger {
    guard let level = Logger.Level(rawValue: logLevel) else { throw Problem.badLogLevel(logLevel) }
    var logger = Logger(label: "iampass-server") { StreamLogHandler.standardError(label: $0) }
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

/// SIGTERM and SIGINT as something to wait for.
struct StopSignals {
  private let signals: AsyncStream<Void>
  private let sources: [any DispatchSourceSignal]

  init() {
    let (signals, sender) = AsyncStream<Void>.makeStream()
    self.signals = signals
    sources = [SIGTERM, SIGINT].map { number in
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
    for await _ in signals { return }
  }
}
