import Glibc
import Logging
import NIOSSL
import Synchronization

/// The certificate and key that the service shows, from two PEM files. Renewed files are taken while it runs: new
/// connections get the new pair, old ones go on.
public final class TLSFiles: Sendable {
  /// Seconds between two looks at the files.
  private static let interval = 30
  /// Seconds before the certificate's end from which on the log says so: 14 days.
  private static let warningTime: Int64 = 14 * 86_400
  /// Seconds between two such lines: a day.
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

  /// When the certificate in use ends.
  public var end: UnixTime { current.withLock { $0.expiry } }

  public var configuration: TLSConfiguration {
    var configuration = current.withLock { $0.configuration }
    configuration.sslContextCallback = { [self] _, promise in
      promise.succeed(current.withLock { $0.override })
    }
    return configuration
  }

  /// What a look at the files came to.
  public enum Renewal: Sendable, Equatable {
    case taken
    case unchanged
    /// The old pair stays, for this reason.
    case notTaken(String)
  }

  /// Takes renewed files, until the task is cancelled.
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

  /// Looks at the files now. Connections that are open go on with the pair that they began with.
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
      // Files are renewed one after the other; the next look finds both.
      logger.warning(
        "the renewed certificate is not taken, the old one stays",
        metadata: ["file": "\(certificate)", "error": "\(error)"])
      return .notTaken("\(error)")
    }
  }

  /// What tells renewed files from the old.
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
        // Throws if the key is not the certificate's.
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
