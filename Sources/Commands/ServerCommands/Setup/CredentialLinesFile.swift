import CommandSupport
import HostSystem

/// The file of an application's credential, which manages its users and phones. Only root can read it.
struct CredentialLinesFile: Sendable, Equatable {
  private static let greatestFile = 4_096

  let id: String
  let secret: String

  init(id: String, secret: String) {
    self.id = id
    self.secret = secret
  }

  /// Reads the file at `path`; nil if there is no file.
  ///
  /// - Throws: for a file of another owner, or without id and secret. Such a file is not overwritten.
  init?(path: String) throws(CommandProblem) {
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestFile) } catch {
      guard error.code == .missing else { throw CommandProblem(error) }
      return nil
    }
    guard let read = CredentialLinesFile(text: String(decoding: bytes, as: UTF8.self)) else {
      throw .noCredential(path)
    }
    self = read
  }

  init?(text: String) {
    var values: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1).map { part in
        String(part.filter { $0 != " " && $0 != "\t" && $0 != "\r" })
      }
      if parts.count == 2 { values[parts[0]] = parts[1] }
    }
    // A base64 text may end with `=`, which also separates names from values.
    guard let id = values["application_id"], let secret = values["application_secret"], !id.isEmpty, !secret.isEmpty
    else { return nil }
    self.init(id: id, secret: secret)
  }
}
