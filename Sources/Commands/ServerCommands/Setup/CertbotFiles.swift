import CommandSupport
import Glibc
import HostSystem

/// certbot's files of one certificate, and the hook that it runs after a renewal.
struct CertbotFiles: Sendable {
  /// The hook's path below certbot's folder. Programs there run after each renewal (certbot's manual, --deploy-hook).
  private static let hookPath = "renewal-hooks/deploy/iampass-server"

  private let root: String
  /// The certificate's folder, such as `/etc/letsencrypt/live/NAME`.
  let folder: String

  /// - Parameter root: certbot's folder, such as `/etc/letsencrypt`.
  init(root: String, name: PublicName) {
    self.root = root
    folder = "\(root)/live/\(name.text)"
  }

  /// - Parameter folder: the certificate's folder.
  init(root: String, folder: String) {
    self.root = root
    self.folder = folder
  }

  var chain: String { folder + "/fullchain.pem" }
  var key: String { folder + "/privkey.pem" }
  var hook: String { "\(root)/\(Self.hookPath)" }

  /// Whether certbot has a certificate for the name.
  var isThere: Bool { access(chain, F_OK) == 0 }

  /// Writes the hook, which copies the renewed certificate and makes the service load it.
  func writeHook() throws(CommandProblem) {
    let text = """
      #!/bin/sh
      # Written by "iampass-server setup": certbot runs this after each renewal.
      [ -x /usr/bin/iampass-server ] || exit 0
      exec /usr/bin/iampass-server certificate renew

      """
    for part in ["renewal-hooks", "renewal-hooks/deploy"] {
      let path = "\(root)/\(part)"
      guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
        throw CommandProblem(FileError(.system(errno), path: path))
      }
    }
    do { try AtomicFile.write(Array(text.utf8), to: hook, mode: 0o755) } catch { throw CommandProblem(error) }
  }
}
