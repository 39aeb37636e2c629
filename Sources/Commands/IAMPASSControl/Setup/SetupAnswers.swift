import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The values to set up: from options, existing files and the terminal.
struct SetupAnswers {
  let configuration: Configuration
  let server: ServerURL
  let credential: ServiceCredential
  /// What the credential's file requires of the service.
  let credentialPins: ReplyPins
  /// `--unsigned`: this computer gives up its former requirements.
  let givesUpPins: Bool
  /// The new `ca_file` of the configuration; nil: it stays.
  let newAuthority: String?
  /// The result of a join; nil for a setup by hand.
  let joining: JoinedAuthority?

  /// The authority of a service that this computer joins.
  struct JoinedAuthority {
    /// Nil: the system's authorities.
    let certificates: CertificateBundle?
    /// The file to write them to.
    let path: String
    /// Whether administrators' phones sign the list of users, with the keys of users' phones in it.
    let isSigned: Bool
  }

  /// Makes the answers of a join. The service must sign all its replies.
  init(configuration: Configuration, server: ServerURL, credential: ServiceCredential, authority: JoinedAuthority) {
    self.configuration = configuration
    self.server = server
    self.credential = credential
    credentialPins = ReplyPins(signedReplies: true, signedTargets: true)
    givesUpPins = false
    newAuthority = authority.certificates.map { _ in authority.path }
    joining = authority
  }

  init(_ command: SetupCommand, prompt: Prompt?) throws(CommandProblem) {
    configuration = try Self.configuration(at: command.host.path)
    newAuthority = try command.ca.map { (path) throws(CommandProblem) in try Self.absolute(path) }
    let file = try command.secretFile.map { (path) throws(CommandProblem) in try SecretFile(path: path) }
    server = try Self.server(command.server, file?.server ?? configuration.server, prompt)
    let known = try Self.credential(at: command.host.place.credentials)
    credential = try Self.credential(command, file, known, prompt)
    credentialPins = file?.pins ?? .none
    givesUpPins = command.unsigned
    joining = nil
  }

  /// The configuration. Throws if it is not valid: the administrator must look at it, and it is not overwritten.
  static func configuration(at path: String) throws(CommandProblem) -> Configuration {
    do { return try Configuration(path: path) } catch {
      if case .keyValue(.file(let file)) = error, file.code == .missing { return Configuration() }
      throw .misconfigured(.configuration(error, path: path), path: path)
    }
  }

  /// The credential; nil if there is none yet, or if the file is empty.
  static func credential(at path: String) throws(CommandProblem) -> ServiceCredential? {
    do { return try ServiceCredential(path: path) } catch {
      if case .keyValue(.file(let file)) = error, file.code == .missing { return nil }
      if case .missing = error { return nil }
      throw .misconfigured(.credentials(error, path: path), path: path)
    }
  }

  private static func absolute(_ path: String) throws(CommandProblem) -> String {
    guard let found = realpath(path, nil) else { throw .file(FileError(.missing, path: path)) }
    defer { free(found) }
    return String(cString: found)
  }

  private static func server(
    _ given: String?, _ known: ServerURL?, _ prompt: Prompt?
  ) throws(CommandProblem) -> ServerURL {
    if given == nil, let known { return known }
    guard var text = given else {
      guard let prompt else { throw .missingOption("--server") }
      return try address(try prompt.line("Address of the service (https://…): "))
    }
    if !text.contains("://") { text = "https://" + text }
    return try address(text)
  }

  static func address(_ text: String) throws(CommandProblem) -> ServerURL {
    let full = text.contains("://") ? text : "https://" + text
    do { return try ServerURL(full) } catch { throw .badAddress(text, error) }
  }

  private static func credential(
    _ command: SetupCommand, _ file: SecretFile?, _ known: ServiceCredential?, _ prompt: Prompt?
  ) throws(CommandProblem) -> ServiceCredential {
    let id: String
    if let given = command.applicationID ?? file?.applicationID ?? known?.applicationID {
      id = given
    } else if let prompt {
      id = try prompt.line("Application id: ")
    } else {
      throw .missingOption("--application-id")
    }
    guard Self.isPlain(Array(id.utf8)) else { throw .badApplicationID }
    if let file {
      // The computer's name in the file belongs only to the credential in the file.
      let host = id == file.applicationID ? file.host : nil
      return ServiceCredential(applicationID: id, secret: file.secret, host: host)
    }
    // If the id was given on the command line, the secret is asked for again.
    if command.applicationID == nil, let known { return known }
    guard let prompt else { throw .missingOption("--secret-file") }
    let secret = try prompt.secret("Application secret (not shown): ")
    guard Self.isPlain(secret.exposedBytes) else { throw .badSecret }
    return ServiceCredential(applicationID: id, secret: secret)
  }

  /// Whether the credentials file can have this value: printable, without spaces, of bounded length.
  static func isPlain(_ bytes: [UInt8]) -> Bool {
    (1...512).contains(bytes.count) && bytes.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

/// A file with only a secret on one line, or with the lines that the service printed: `application_id`,
/// `application_secret`, and what to require of the service.
struct SecretFile {
  private static let greatestSize = 4_096

  let applicationID: String?
  let secret: Secret
  /// The only computer's name that the credential may use; nil if the file does not have it.
  let host: String?
  let server: ServerURL?
  let pins: ReplyPins

  init(path: String) throws(CommandProblem) {
    do {
      let issued = try IssuedCredential(path: path)
      applicationID = issued.credential.applicationID
      secret = issued.credential.secret
      host = issued.credential.host
      server = issued.server
      pins = ReplyPins(signedReplies: issued.requiresSignedReplies, signedTargets: issued.requiresSignedTargets)
      return
    } catch {
      // A bad line among valid ones must not count as a secret alone.
      if case .badValue = error { throw .misconfigured(.credentials(error, path: path), path: path) }
    }
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch { throw .file(error) }
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    guard SetupAnswers.isPlain(Array(line)) else { throw .badSecret }
    applicationID = nil
    secret = Secret(bytes: Array(line))
    host = nil
    server = nil
    pins = .none
  }
}
