import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The contents of the setup's files. Each call reads the files again, so that a change needs no restart.
public struct HostSetup {
  public let configuration: Configuration
  public let configurationPath: String

  public init(path: String) throws(Misconfiguration) {
    configurationPath = path
    do { configuration = try Configuration(path: path) } catch {
      // If nothing was set up, the module acts as if it were not installed.
      if case .keyValue(.file(let file)) = error, file.code == .missing { throw .noServer }
      throw .configuration(error, path: path)
    }
  }

  public var run: RunFolder { RunFolder(path: configuration.runFolder) }
  public var state: RunFolder { RunFolder(path: configuration.stateFolder) }
  public var ledger: SessionLedger { SessionLedger(run: run) }
  public var watchNotes: WatchNotes { WatchNotes(run: run) }
  public var awayLocks: AwayLocks { AwayLocks(run: run) }
  public var leftRequests: LeftRequests { LeftRequests(run: run) }
  public var recoveryCodes: RecoveryCodes { RecoveryCodes(state: state) }
  /// Nil if this computer trusts the service: then it does not know the phones' keys.
  public var offlinePhones: OfflinePhones? {
    configuration.approvals == .verified
      ? OfflinePhones(state: state, pins: place.phones, service: servicePhones) : nil
  }
  public var sealedPasswords: SealedPasswords { SealedPasswords(state: state) }
  public var helper: HelperPresence { HelperPresence(run: run) }

  /// Where the setup is: credentials and users are in the configuration's folder.
  public var place: SetupPlace { SetupPlace(configuration: configurationPath) }
  public var credentialsPath: String { place.credentials }
  public var usersPath: String { place.users }

  public func serviceSettings() throws(Misconfiguration) -> ServiceSettings {
    guard let server = configuration.server else { throw .noServer }
    guard server.isEncrypted || configuration.requiresSignedReplies else { throw .plainServerNotSigned }
    return ServiceSettings(
      server: server, scheme: configuration.signing, dialect: configuration.dialect,
      signedReplies: configuration.requiresSignedReplies, signedTargets: configuration.requiresSignedTargets)
  }

  public func credential() throws(Misconfiguration) -> ServiceCredential {
    do { return try ServiceCredential(path: credentialsPath) } catch {
      throw .credentials(error, path: credentialsPath)
    }
  }

  /// A connection to the service, not yet started.
  public func transport(interruption: (any Interruption)?) throws(Misconfiguration) -> WorkerTransport {
    WorkerTransport(settings: try workerSettings(), interruption: interruption)
  }

  /// - Parameter lifetime: seconds until the worker ends by itself; 0: it ends with the process that started it.
  public func workerSettings(lifetime: UInt32 = WorkerSettings.loginLifetime) throws(Misconfiguration) -> WorkerSettings
  {
    guard let server = configuration.server else { throw .noServer }
    var authorities: CertificateBundle?
    if let path = configuration.caFile {
      do { authorities = try CertificateBundle(path: path) } catch { throw .authority(error) }
    }
    return WorkerSettings(
      server: server, caCertificates: authorities, proxy: configuration.proxy, worker: configuration.worker,
      workerUser: configuration.workerUser, standby: configuration.standby, lifetime: lifetime)
  }
}

extension CertificateBundle {
  /// Greatest size of a `ca_file`, in bytes.
  public static let greatestFileSize = 1024 * 1024

  /// Reads a `ca_file`, which others may read but not write. It must have a certificate.
  public init(path: String) throws(FileError) {
    let bytes = try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestFileSize)
    guard let bundle = CertificateBundle(pem: bytes) else {
      throw FileError(bytes.isEmpty ? .empty : .noCertificate, path: path)
    }
    self = bundle
  }
}
