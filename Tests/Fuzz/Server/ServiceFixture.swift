import DeviceProtocol
import Dispatch
import Foundation
import FuzzKit
import IAMPASSProtocol
import Logging

@testable import IAMPASSServer

/// A whole service without sockets, in memory: an application and one of its hosts, a user with a phone, and two
/// requests that wait for her answer. It is made once; what an input changed is put back before the next.
final class ServiceFixture {
  static let authority = "iampass.test"
  static let origin = "https://iampass.test"
  /// The clock stands still.
  static let now = UnixTime(seconds: 1_800_000_000)
  static let clocks = MachineClocks(bootID: { "fuzz" }, sinceBoot: { 1_000 }, wall: { ServiceFixture.now })
  nonisolated(unsafe) static let shared = ServiceFixture()

  let application: Application
  let host: HostCredential
  let key: DeviceKey
  let device: String
  let authenticator: Authenticator
  /// A tap approves the first, the phone's unlocking the second; both ask for the code.
  let sessions: [StartedSession]
  let requests: [OpenRequest]
  private let folder = ScratchFolder.path
  private let template: String
  private var storage: SQLiteStorage
  private var restored = 0

  private init() {
    do {
      storage = try SQLiteStorage(folder: folder + "/0", clocks: ServiceFixture.clocks)
      let storage = storage
      template = folder + "/template"
      let template = template
      let made = try waited { try await Beginning(storage).played(copyingTo: template) }
      (application, host, key, device) = (made.application, made.host, made.key, made.device)
      (authenticator, sessions, requests) = (made.authenticator, made.sessions, made.requests)
    } catch { fatalError("there is no world: \(error)") }
  }

  /// A reply, and how many rows were changed for it.
  struct Outcome {
    let reply: ServiceReply
    let changes: Int
  }

  /// - Parameter isBehindProxy: as if started with `--public-url https://public.test/base`.
  func respond(to request: ServiceRequest, isBehindProxy: Bool = false) -> Outcome {
    let publicURL = isBehindProxy ? try? ServerURL("https://public.test/base") : nil
    // Made again each time, since it counts failures.
    let service = SignInService.quiet(storage, publicURL: publicURL)
    do {
      return try waited { [storage] in
        let before = try await storage.write { $0.totalChangesCount }
        let reply = await service.respond(to: request)
        return Outcome(reply: reply, changes: try await storage.write { $0.totalChangesCount } - before)
      }
    } catch { fatalError("the storage does not work: \(error)") }
  }

  func session(_ id: String) -> Session? {
    try? waited { [storage] in try await storage.read { try Session.find(id: id, in: $0) } }
  }

  /// Puts back what was changed.
  func restore() {
    do {
      try storage.close()
      try? FileManager.default.removeItem(atPath: folder + "/\(restored)")
      restored += 1
      let next = folder + "/\(restored)"
      try FileManager.default.createDirectory(atPath: next, withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: template, toPath: next + "/iampass.sqlite")
      storage = try SQLiteStorage(folder: next, clocks: ServiceFixture.clocks)
    } catch { fatalError("the world is not restored: \(error)") }
  }

  /// What stands in an input for what only the harness knows.
  var placeholders: [(name: String, value: String)] {
    [
      ("$app", application.id), ("$host", host.id), ("$token", sessions[0].token.exposedValue),
      ("$session", requests[0].session), ("$second", requests[1].session), ("$device", device),
      ("$nonce1", requests[0].nonce), ("$nonce2", requests[1].nonce), ("$expires", String(requests[0].expires)),
      ("$hash1", ShownContext.hash(requests[0].context)), ("$hash2", ShownContext.hash(requests[1].context)),
      ("$code1", sessions[0].matchCode ?? ""), ("$code2", sessions[1].matchCode ?? ""),
      ("$origin", ServiceFixture.origin),
      ("$now", String(ServiceFixture.now.seconds)), ("$point", Base64URL.encode((try? key.publicKey.point) ?? [])),
    ]
  }

  func filledIn(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(UInt8(ascii: "$")) else { return text }
    var data = Data(text)
    for (name, value) in placeholders {
      while let place = data.range(of: Data(name.utf8)) { data.replaceSubrange(place, with: Data(value.utf8)) }
    }
    return Array(data)
  }
}

extension SignInService {
  static func quiet(_ storage: SQLiteStorage, publicURL: ServerURL? = nil) -> SignInService {
    SignInService(
      storage: storage, publicURL: publicURL, longestWait: 0, programs: "/nonexistent",
      logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
  }
}

/// SAFETY: written before the signal and read after it.
private final class ResultBox<Value: Sendable>: @unchecked Sendable { var result: Result<Value, any Error>? }

/// The result of work that other threads do.
func waited<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
  let box = ResultBox<Value>()
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    do { box.result = .success(try await work()) } catch { box.result = .failure(error) }
    done.signal()
  }
  done.wait()
  guard let result = box.result else { fatalError("signalled without a result") }
  return try result.get()
}
