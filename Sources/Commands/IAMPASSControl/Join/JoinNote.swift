import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// What a join needs to go on after it was broken off: the new credential's secret, which the service may know already.
struct JoinNote {
  private static let name = "joining"

  let server: String
  /// ``JoinCode/digest(of:)``.
  let code: String
  let computer: String
  let secret: Secret

  private static func path(in folder: String) -> String { folder + "/" + name }

  /// The note of the same join; a new one otherwise, which is on the disk before anything is sent.
  static func kept(
    in folder: String, server: ServerURL, code: JoinCode, computer: String
  ) throws(Failure) -> JoinNote {
    let path = path(in: folder)
    let digest = JoinCode.digest(of: code.secret)
    if let file = try? KeyValueFile(path: path, privacy: .secret), let secret = file["secret"]?.value,
      file["server"]?.value == server.description, file["code"]?.value == digest, file["name"]?.value == computer
    {
      return JoinNote(server: server.description, code: digest, computer: computer, secret: Secret(secret))
    }
    // The only form that both ways of signing take.
    guard let random = Digest.randomBytes(24) else { throw .service(.noRandomness) }
    let note = JoinNote(
      server: server.description, code: digest, computer: computer, secret: Secret(Base64.encode(random)))
    do { try AtomicFile.write(note.bytes, to: path, mode: 0o600) } catch { throw .file(error) }
    return note
  }

  static func forget(in folder: String) { unlink(path(in: folder)) }

  private var bytes: [UInt8] {
    KeyValueEditor.setting(
      [("server", server), ("code", code), ("name", computer), ("secret", secret.exposedValue)], in: [])
  }
}
