import Glibc
import Logging
import NIOSSL
import Synchronization

/// The service's certificate and key, from two PEM files. Renewed files are loaded while it runs: new connections get
/// the new pair, and old ones keep theirs.
public final class TLSFiles: Sendable {
  /// The time between two looks at the files, in seconds.
  private static let interval = 30
  /// How long before the certificate's end the log warns, in seconds: 14 days.
  private static let warningTime: Int64 = 14 * 86_400
  /// The time between two such lines, in seconds: a day.
  private static let warningInterval: Int64 = 86_400

  private let certificate: String
  private let key: String
  private let current: Mutex<Pair>

  /// Reads and checks the files; the chain's first certificate is the service's own.
  public init(certificate: String, key: String) throws {
    self.certificate = certificate
    self.key = key
    current = Mutex(try Pair(certificate: certificate, key: key))
  }

  /// When the certificate in use expires.
  public var end: UnixTime { current.withLock { $0.expiry } }

  public var configuration: TLSConfiguration {
    var configuration = current.withLock { $0.configuration }
    configuration.sslContextCallback = { [self] _, promise in
      promise.succeed(current.withLock { $0.override })
    }
    return configuration
  }

  /// The result of a look at the files.
  public enum Renewal: Sendable, Equatable {
    case taken
    case unchanged
    /// The old pair stays in use, for this reason.
    case notTaken(String)
  }

  /// Loads renewed files, until the task is cancelled.
  public func keepFresh(logger: Logger) async {
    var warnedAt: UnixTime?
    while !Task.isCancelled {
      renew(logger: logger)
      let now = UnixTime.now()
      let expiry = current.withLock { $0.expiry }
      if expiry.seconds - now.seconds < Self.warningTime,
        warnedAt.map({ now.seconds - $0.seconds >= Self.warningInterval }) ?? true
      {
        let days = (expiry.seconds - now.seconds) / 86_400
        logger.warning("the certificate ends soon", metadata: ["file": "\(certificate)", "days": "\(days)"])
        warnedAt = now
      }
      try? await Task.sleep(for: .seconds(Self.interval))
    }
  }

  /// Reads the files now if they have changed. Open connections keep their pair.
  @discardableResult
  public func renew(logger: Logger) -> Renewal {
    let seen = Stamp(certificate: certificate, key: key)
    guard seen != current.withLock({ $0.stamp }) else { return .unchanged }
    do {
      let renewed = try Pair(certificate: certificate, key: key)
      current.withLock { $0 = renewed }
      logger.notice("took the renewed certificate", metadata: ["file": "\(certificate)"])
      return .taken
    } catch {
      // The files may be renewed one after the other. The next look then finds both.
      logger.warning(
        "the renewed certificate is not taken, the old one stays",
        metadata: ["file": "\(certificate)", "error": "\(error)"])
      return .notTaken("\(error)")
    }
  }

  /// Values that differ between renewed files and the old ones.
  private struct Stamp: Equatable {
    private let values: [Int64]

    init(certificate: String, key: String) {
      values = [certificate, key].flatMap { path -> [Int64] in
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        let modified = status.st_mtim
        return [Int64(status.st_ino), Int64(modified.tv_sec), Int64(modified.tv_nsec), Int64(status.st_size)]
      }
    }
  }

  /// A certificate with its key, proven to belong together.
  private struct Pair {
    let stamp: Stamp
    let configuration: TLSConfiguration
    let override: NIOSSLContextConfigurationOverride
    let expiry: UnixTime

    init(certificate: String, key: String) throws {
      stamp = Stamp(certificate: certificate, key: key)
      let chain: [NIOSSLCertificate]
      do {
        chain = try NIOSSLCertificate.fromPEMFile(certificate)
      } catch {
        throw ServerError(code: .certificateUnreadable, subject: certificate, detail: "\(error)")
      }
      let privateKey: NIOSSLPrivateKey
      do {
        privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
      } catch {
        throw ServerError(code: .keyUnreadable, subject: key, detail: "\(error)")
      }
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["h2", "http/1.1"]
      do {
        // This throws if the key does not belong to the certificate.
        _ = try NIOSSLContext(configuration: configuration)
      } catch {
        throw ServerError(code: .certificateRefused, subject: certificate, detail: "\(error)")
      }
      self.configuration = configuration
      expiry = UnixTime(seconds: Int64(chain.first?.notValidAfter ?? 0))
      var override = NIOSSLContextConfigurationOverride.noChanges
      override.certificateChain = configuration.certificateChain
      override.privateKey = configuration.privateKey
      self.override = override
    }
  }
}
