import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import LoginModule

/// The start of a request while the user interrupts. `test_interrupted_start` has the rest.
@Suite struct ServiceConnectionTests {
  private final class CtrlC: Interruption {
    let descriptor: Int32 = -1
    func isPending() -> Bool { true }
  }

  /// A start that went out would fail by its worker, which is not there.
  @Test func nothingIsSentForAUserWhoHasLeft() throws {
    let server = try ServerURL("https://iam.example")
    let transport = WorkerTransport(
      settings: WorkerSettings(server: server, worker: "/nowhere/iampass-https", workerUser: "nobody"),
      interruption: CtrlC())
    let client = try AuthenticationClient(
      settings: ServiceSettings(server: server, scheme: .documented, dialect: .iampass, signedReplies: false),
      credential: ServiceCredential(applicationID: "app", secret: Secret("yNGfB51YbmwxAscRuzOl8G5U")),
      transport: transport, unixTime: { 1_700_000_000 })
    let connection = ServiceConnection(client: client, transport: transport)
    #expect(throws: ServiceError.transport(TransportError(.interrupted))) {
      try connection.start(
        token: Secret("token-of-alice"), .service(methods: [], context: nil), durationSeconds: 60,
        deadline: MonotonicInstant.now().advanced(milliseconds: 20_000))
    }
    #expect(!connection.startMayHaveArrived)
  }
}
