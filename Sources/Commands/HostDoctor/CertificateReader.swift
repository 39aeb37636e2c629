import CommandSupport
import Glibc
import IAMPASSProtocol

/// The certificates that the service shows. openssl reads them, as the worker's user: nothing parses TLS as root, and the
/// worker tells no more of a certificate than whether it is good. What is read here is what anybody may have shown.
public enum CertificateReader {
  private static let setpriv = "/usr/bin/setpriv"
  private static let openssl = "/usr/bin/openssl"
  /// In seconds.
  private static let patience: Int64 = 5

  /// - Parameter workerUser: nil where the caller is not root.
  ///
  /// - Returns: openssl, to be run as that user; nil if it is not there.
  private static func program(as workerUser: String?) -> [String]? {
    guard Program.exists(openssl) else { return nil }
    guard let workerUser, geteuid() == 0 else { return [openssl] }
    guard Program.exists(setpriv), let user = getpwnam(workerUser)?.pointee, user.pw_uid != 0 else { return nil }
    return [
      setpriv, "--reuid=\(user.pw_uid)", "--regid=\(user.pw_gid)", "--clear-groups", "--no-new-privs", openssl,
    ]
  }

  private static func connection(to server: ServerURL, proxy: String?) -> [String] {
    let address = "\(server.host):\(server.port)"
    let name = server.hostName.contains(":") ? [] : ["-servername", server.hostName]
    let way = proxy.map { ["-proxy", String($0.dropFirst("http://".count).prefix { $0 != "/" })] } ?? []
    return ["s_client", "-connect", address] + name + way
  }

  /// The DER of the certificates that whoever answers there shows, none of them verified; nil if nobody shows any.
  public static func shownChain(of server: ServerURL, workerUser: String?, proxy: String?) -> [[UInt8]]? {
    guard let program = program(as: workerUser),
      let shown = Program.run(program + connection(to: server, proxy: proxy) + ["-showcerts"], seconds: patience)
    else { return nil }
    let found = CertificateChain.certificates(in: Array(shown.output.utf8))
    return found.isEmpty ? nil : found
  }

  static func end(of server: ServerURL, workerUser: String) -> Int64? {
    guard let program = program(as: workerUser),
      let own = shownChain(of: server, workerUser: workerUser, proxy: nil)?.first
    else { return nil }
    let pem = CertificateChain.pem(own)
    guard pem.count < 60_000 else { return nil }
    return Program.run(program + ["x509", "-noout", "-enddate"], input: pem, seconds: patience).flatMap {
      CertificateTerm.end($0.output)
    }
  }
}
