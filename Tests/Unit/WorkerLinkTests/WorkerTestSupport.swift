import Foundation
import IAMPASSProtocol

@testable import HostSystem
@testable import WorkerLink

/// The services of Tests/Support/HostileService, started once for all tests.
struct HostileServices: Decodable, Sendable {
  private let certificatesFile: String
  private let ports: [String: Int]

  private enum CodingKeys: String, CodingKey {
    case certificatesFile = "ca_file"
    case ports
  }

  static let shared = start()
  // Its standard input ends with this process, and then the services end.
  nonisolated(unsafe) private static var process: Companion?

  private static func start() -> HostileServices {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Support/HostileService/hostile_service.py").standardized
    do {
      let process = try Companion(["/usr/bin/python3", "-B", script.path])
      Self.process = process
      return try JSONDecoder().decode(HostileServices.self, from: Data(process.line().utf8))
    } catch {
      fatalError("no hostile services: \(error)")
    }
  }

  func url(_ service: String) -> String {
    "\(service == "plain" ? "http://127.0.0.1" : "https://localhost"):\(ports[service]!)"
  }

  var authorities: CertificateBundle? {
    // The test's user reads the certificates, and the worker receives the bytes.
    FileManager.default.contents(atPath: certificatesFile).flatMap { CertificateBundle(pem: Array($0)) }
  }

  /// `host` replaces localhost in the address.
  func settings(
    _ service: String = "good", host: String = "localhost", worker: String = workerPath,
    lifetime: UInt32 = WorkerSettings.loginLifetime
  ) -> WorkerSettings {
    let address = url(service).replacingOccurrences(of: "localhost", with: host)
    var settings = WorkerSettings(
      server: try! ServerURL(address), caCertificates: authorities, worker: worker,
      workerUser: geteuid() == 0 ? "nobody" : nil, lifetime: lifetime)
    // A worker that a busy machine holds up still reports the service's silence.
    settings.reportMargin = 1_000
    return settings
  }

  func transport(_ service: String = "good", host: String = "localhost") -> WorkerTransport {
    WorkerTransport(settings: settings(service, host: host))
  }
}

/// Test bundles lie next to the executables they were built with.
let workerPath: String =
  ProcessInfo.processInfo.environment["IAMPASS_TEST_WORKER"]
  ?? URL(fileURLWithPath: CommandLine.arguments[0]).absoluteURL.resolvingSymlinksInPath()
  .deletingLastPathComponent().appendingPathComponent("iampass-https").path

/// - Parameter milliseconds: enough for a busy machine; a test of silence sets its own.
func get(
  _ transport: WorkerTransport, _ url: String, milliseconds: Int64 = 20_000
) throws(TransportError) -> HTTPReply {
  try transport.exchange(
    HTTPRequest(method: .get, url: url, headers: []), deadline: .now().advanced(milliseconds: milliseconds))
}

/// The error; nil after success.
func failure(_ body: () throws(TransportError) -> HTTPReply) -> TransportError.Code? {
  do throws(TransportError) {
    _ = try body()
    return nil
  } catch {
    return error.code
  }
}

/// What a service with this name was asked, over a new connection.
struct Recorded: Decodable {
  let method: String
  let path: String
  let headers: [[String]]
  let body: String
  /// Counts from 1 on each connection.
  let numberOnConnection: Int

  private enum CodingKeys: String, CodingKey {
    case method, path, headers, body
    case numberOnConnection = "on_connection"
  }

  static func requests(of service: String, path: String) throws -> [Recorded] {
    let reply = try get(HostileServices.shared.transport(service), HostileServices.shared.url(service) + "/recorded")
    return try JSONDecoder().decode([Recorded].self, from: Data(reply.body)).filter { $0.path == path }
  }
}

/// Living children of this process that run the worker.
func workers() -> [pid_t] {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  return tasks.flatMap { task in
    let list = (try? String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8)) ?? ""
    return list.split(separator: " ").compactMap { pid_t($0) }
  }.filter {
    // Found by its file: its name is a number until it sets another.
    let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/exe")
    return program?.hasSuffix("/iampass-https") == true && processStatus($0)["State"]?.hasPrefix("Z") != true
  }
}

/// The fields of /proc/PID/status.
func processStatus(_ process: pid_t) -> [String: String] {
  let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
  return text.split(separator: "\n").reduce(into: [:]) { fields, line in
    let parts = line.split(separator: ":", maxSplits: 1)
    fields[String(parts[0])] = parts.last?.trimmingCharacters(in: .whitespaces)
  }
}

/// Whether fewer than `count` sockets and processes are open that were not in `before`. Other tests open and close some
/// at the same time. A leak in each of `count` rounds would stay.
func areFewerLeft(than count: Int, since before: Set<String>) -> Bool {
  let deadline = MonotonicInstant.now().advanced(milliseconds: 30_000)
  while openDescriptors().subtracting(before).count >= count {
    if MonotonicInstant.now() >= deadline { return false }
    usleep(50_000)
  }
  return true
}

/// The process's sockets, and its processes by descriptor.
func openDescriptors() -> Set<String> {
  let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
  let ours = numbers.compactMap { number in
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)).map { number + " " + $0 }
  }
  return Set(ours.filter { $0.contains("socket:") || $0.contains("pidfd") })
}
