import NIOSSL

/// The certificate and key that the service shows.
public enum TLSFiles {
  /// Reads and checks a pair of PEM files; the chain's first certificate is the service's own.
  public static func configuration(certificate: String, key: String) throws -> TLSConfiguration {
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
      // Throws where the key is not the certificate's.
      _ = try NIOSSLContext(configuration: configuration)
    } catch {
      throw ServerError(code: .certificateRefused, subject: certificate, detail: "\(error)")
    }
    return configuration
  }
}
