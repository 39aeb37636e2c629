import CHost
import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// What the files say: read anew in each call, so that a change needs no restart.
struct ModuleSetup {
  /// Greatest size of a `ca_file`, in bytes.
  private static let greatestAuthoritySize = 1024 * 1024

  let configuration: Configuration
  let configurationPath: String

  init(path: String) throws(Misconfiguration) {
    configurationPath = path
    do { configuration = try Configuration(path: path) } catch {
      // Nothing was ever set up: as without the module.
      if case .keyValue(.file(let file)) = error, file.code == .missing { throw .noServer }
      throw .configuration(error, path: path)
    }
  }

  var run: RunFolder { RunFolder(path: configuration.runFolder) }
  var ledger: SessionLedger { SessionLedger(run: run) }

  /// Credentials and users stand beside the configuration.
  var credentialsPath: String { folder + "/credentials" }
  var usersPath: String { folder + "/users" }

  private var folder: String {
    configurationPath.lastIndex(of: "/").map { String(configurationPath[..<$0]) } ?? ""
  }

  func serviceSettings() throws(Misconfiguration) -> ServiceSettings {
    guard let server = configuration.server else { throw .noServer }
    return ServiceSettings(
      server: server, scheme: configuration.signing, dialect: configuration.dialect,
      signedReplies: configuration.requiresSignedReplies)
  }

  func credential() throws(Misconfiguration) -> ServiceCredential {
    do { return try ServiceCredential(path: credentialsPath) } catch {
      throw .credentials(error, path: credentialsPath)
    }
  }

  /// A connection to the service, not yet started.
  func transport(interruption: (any Interruption)?) throws(Misconfiguration) -> WorkerTransport {
    guard let server = configuration.server else { throw .noServer }
    var authorities: [UInt8]?
    if let path = configuration.caFile {
      do {
        authorities = try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestAuthoritySize)
      } catch { throw .authority(error) }
    }
    let settings = WorkerSettings(
      server: server, caCertificates: authorities, proxy: configuration.proxy, worker: configuration.worker,
      workerUser: configuration.workerUser)
    return WorkerTransport(settings: settings, interruption: interruption)
  }

  func service(interruption: (any Interruption)?) throws(Misconfiguration) -> ServiceConnection {
    let transport = try transport(interruption: interruption)
    do {
      let client = try AuthenticationClient(
        settings: try serviceSettings(), credential: try credential(), transport: transport,
        unixTime: { Int64(time(nil)) })
      return ServiceConnection(client: client, transport: transport)
    } catch let error as SigningError { throw .signing(error) } catch let error as Misconfiguration { throw error } catch {
      throw .noServer
    }
  }
}

/// The service, over one worker.
final class ServiceConnection: AuthenticationService {
  private let client: AuthenticationClient
  private let transport: WorkerTransport

  init(client: AuthenticationClient, transport: WorkerTransport) {
    self.client = client
    self.transport = transport
  }

  deinit { transport.stop() }

  /// A worker that does not start is reported by the request that needs it.
  func prepare() { try? transport.prepare() }

  func start(
    token: Secret, methods: [AuthenticationMethod], durationSeconds: Int64, context: SignInContext?,
    deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    try client.start(
      token: token, methods: methods, durationSeconds: durationSeconds, context: context, deadline: deadline)
  }

  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    try client.approval(of: session, waitSeconds: waitSeconds, deadline: deadline)
  }

  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    transport.ignoreInterruption()
    try client.end(session, deadline: deadline)
  }
}
