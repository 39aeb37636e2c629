import CommandSupport
import Glibc
import HostSystem
import IAMPASSServer

/// What the service's commands say beside what they print.
enum Notice {
  /// Prints a line on standard error.
  static func tell(_ message: String) {
    // A terminal that is gone cannot be told.
    _ = WholeText.write("iampass-server: \(message)\n", to: STDERR_FILENO)
  }
}

/// What can go wrong with a service.
extension CommandProblem {
  private static let usage: Int32 = 64
  private static let badInput: Int32 = 65
  private static let noInput: Int32 = 66
  private static let unavailable: Int32 = 69
  private static let cannotCreate: Int32 = 73
  private static let ioError: Int32 = 74
  private static let badConfiguration: Int32 = 78

  static func badListen(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not an address and a port to listen on", hint: "for example 127.0.0.1:8443 or [::]:443",
      exitCode: usage)
  }

  static func badPublicURL(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not a public address", hint: "for example https://iampass.example.org", exitCode: usage)
  }

  static func noPublicURL(_ listen: String) -> CommandProblem {
    CommandProblem(
      message: "\(listen) is not on loopback only, and --public-url does not say which address clients use",
      hint: "for example --public-url https://iampass.example.org:8443, or --listen 127.0.0.1:8443", exitCode: usage)
  }

  static let noAddress = CommandProblem(
    message: "the service's address is not known yet",
    hint: "start the service once, or give its address with --public-url", exitCode: usage)

  static func notPrinted(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "the output cannot be written: \(systemText(code))",
      hint: "look at the space on its disk, and run this again", exitCode: ioError)
  }

  /// What was made with the secret was taken back.
  static func secretNotPrinted(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "the secret cannot be written: \(systemText(code)); what was made is taken back",
      hint: "look at the space on the output's disk, and run this again", exitCode: ioError)
  }

  /// What was made with the secret is still there.
  static func secretLost(_ code: Int32, id: String) -> CommandProblem {
    CommandProblem(
      message: "the secret of \(id) cannot be written: \(systemText(code)); it cannot be taken back either",
      hint: "revoke a host credential with host-credential revoke; renew an application's secret in the console",
      exitCode: ioError)
  }

  static func notListening(on address: String, option: String, detail: String) -> CommandProblem {
    CommandProblem(
      message: "cannot listen on \(address): \(detail)",
      hint: "look for another program on that port, or choose another with \(option)", exitCode: unavailable)
  }

  private static func systemText(_ code: Int32) -> String { String(cString: strerror(code)) }

  static func badProxy(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not the address of a proxy", hint: "use a numeric address, for example 127.0.0.1",
      exitCode: usage)
  }

  static func badLogLevel(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "there is no log level \(text)",
      hint: "use one of trace, debug, info, notice, warning, error, critical", exitCode: usage)
  }

  init(_ error: StorageError) {
    switch error.code {
    case .folderNotMade:
      self.init(
        message: "\(error.path) cannot be the data directory: \(error.detail)",
        hint: "make its parent directory, and run this as the user that owns it", exitCode: Self.cannotCreate)
    case .folderWritableByOthers:
      self.init(
        message: "\(error.path) is writable by others", hint: "chmod 700 \(error.path)",
        exitCode: Self.badConfiguration)
    case .databaseNotOpened:
      self.init(
        message: "\(error.path) cannot be opened: \(error.detail)",
        hint: "look at its owner, its mode, the space on its disk, and for another program that holds it",
        exitCode: Self.ioError)
    case .databaseDamaged:
      self.init(
        message: "\(error.path) is damaged: \(error.detail)",
        hint: "move it and both files beside it away, and put the last backup in its place: iampass-server(8)",
        exitCode: Self.badInput)
    case .noDatabase:
      self.init(
        message: "there is no database \(error.path)", hint: "give the data directory of the service with --data",
        exitCode: Self.noInput)
    case .noRandomBytes:
      self.init(
        message: "the system does not give random bytes", hint: "look at the kernel's log", exitCode: Self.unavailable)
    case .clockBehindCopy:
      self.init(
        message: "the clock is behind: the restored database was last used at \(error.detail)",
        hint: "set the clock, and start the service again", exitCode: Self.unavailable)
    }
  }

  init(_ error: ServerError) {
    switch error.code {
    case .certificateUnreadable:
      self.init(
        message: "\(error.subject) has no certificate: \(error.detail)",
        hint: "name a readable PEM file with --tls-cert, or --push-ca", exitCode: Self.noInput)
    case .keyUnreadable:
      self.init(
        message: "\(error.subject) has no private key: \(error.detail)",
        hint: "name a readable PEM file with --tls-key", exitCode: Self.noInput)
    case .certificateRefused:
      self.init(
        message: "\(error.subject) cannot be used with the key: \(error.detail)",
        hint: "certificate and key must belong together", exitCode: Self.badInput)
    }
  }

  init(_ refusal: ApplicationRefusal, name: String) {
    switch refusal {
    case .nameTaken:
      self.init(
        message: "there is an application \(name) already", hint: "choose another name", exitCode: Self.badInput)
    case .nameUnknown:
      self.init(
        message: "there is no application \(name)", hint: "look at the name it was made with", exitCode: Self.badInput)
    case .nameNotFit:
      self.init(
        message: "this is not a valid name for an application",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: Self.badInput)
    }
  }

  init(_ refusal: HostCredentialRefusal, application: String, name: String, host: String = "") {
    switch refusal {
    case .unknownApplication:
      self.init(
        message: "there is no application \(application)",
        hint: "give the name or the id that iampass-server application create was given or printed",
        exitCode: Self.badInput)
    case .nameTaken:
      self.init(
        message: "\(application) has a host credential \(name) already",
        hint: "choose another name, or revoke that one", exitCode: Self.badInput)
    case .nameNotFit:
      self.init(
        message: "this is not a valid name for a host credential",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: Self.badInput)
    case .hostNotFit:
      self.init(
        message: "\(host.isEmpty ? "the empty text" : host) is not a valid host name for phones to show",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: Self.badInput)
    case .unknownCredential:
      self.init(
        message: "\(application) has no host credential \(name) that could be revoked",
        hint: "iampass-server host-credential list \(application) --data DIR", exitCode: Self.badInput)
    }
  }

  init(_ error: BackupError) {
    switch error.code {
    case .exists:
      self.init(
        message: "\(error.path) is there already", hint: "choose another name: nothing is overwritten",
        exitCode: Self.cannotCreate)
    case .notWritten:
      self.init(
        message: "\(error.path) cannot be written: \(error.detail)",
        hint: "look at its folder, the space on its disk, and whether that has hard links", exitCode: Self.cannotCreate)
    }
  }

  /// Any other failure of the storage.
  init(unexpected error: any Error) {
    self.init(message: "\(error)", hint: "look at the data directory and its disk", exitCode: Self.ioError)
  }
}

/// Runs `work` with its failures made fit for a person.
func explaining<Value>(_ work: () async throws -> Value) async throws -> Value {
  do {
    return try await work()
  } catch let error as StorageError {
    throw CommandProblem(error)
  } catch let error as ServerError {
    throw CommandProblem(error)
  } catch let error as BackupError {
    throw CommandProblem(error)
  } catch let problem as CommandProblem {
    throw problem
  } catch {
    throw CommandProblem(unexpected: error)
  }
}
