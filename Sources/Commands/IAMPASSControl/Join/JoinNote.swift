import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// The new credential's secret, with which an interrupted join can go on. The service may already know it.
struct JoinNote {
  private static let name = "joining"

  let server: String
  /// The code's digest, see ``JoinCode/digest(of:)``.
  let code: String
  let computer: String
  let secret: Secret

  private static func path(in folder: String) -> String { folder + "/" + name }

  /// The note of the same join. Otherwise a new one, which is on the disk before a request is sent.
  static func kept(
    in folder: String, server: ServerURL, code: JoinCode, computer: String
  ) throws(CommandProblem) -> JoinNote {
    let path = path(in: folder)
    let digest = JoinCode.digest(of: code.secret)
    if let file = try? KeyValueFile(path: path, privacy: .secret), let secret = file["secret"]?.value,
      file["server"]?.value == server.description, file["code"]?.value == digest, file["name"]?.value == computer
    {
      // Its writer may have been killed before its name was on the disk.
      try settle(path)
      return JoinNote(server: server.description, code: digest, computer: computer, secret: Secret(secret))
    }
    // Both signing schemes take only this form.
    guard let random = Digest.randomBytes(24) else { throw .service(.noRandomness) }
    let note = JoinNote(
      server: server.description, code: digest, computer: computer, secret: Secret(Base64.encode(random)))
    do { try AtomicFile.write(note.bytes, to: path, mode: 0o600) } catch { throw .file(error) }
    try settle(path)
    return note
  }

  /// The configuration's folder may be new too.
  private static func settle(_ path: String) throws(CommandProblem) {
    let folder = SecureFile.folder(of: path)
    do { try FolderFlush.settleName(of: path, upTo: SecureFile.folder(of: folder)) } catch { throw .file(error) }
  }

  static func forget(in folder: String) { unlink(path(in: folder)) }

  private var bytes: [UInt8] {
    KeyValueEditor.setting(
      [("server", server), ("code", code), ("name", computer), ("secret", secret.exposedValue)], in: [])
  }
}
