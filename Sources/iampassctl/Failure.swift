import ArgumentParser
import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// Why a command stops: what, where, and what next; with an exit code of sysexits.h.
enum Failure: Error {
  case notRoot
  case badUsername(String)
  case unknownUser(UnixUsername)
  case noToken(UnixUsername)
  /// With the configuration's path.
  case misconfigured(Misconfiguration, path: String)
  case service(ServiceError)
  case records(LedgerError)
  case noSession(String)
  case severalSessions(String)
  case helperNotThere
  /// The helper has not ended it in time.
  case sessionStays(String)

  var message: String {
    switch self {
    case .notRoot: "only root can do this"
    case .badUsername(let text): "\(DisplayText.sanitized(text, limit: 64)) is no user name"
    case .unknownUser(let user): "user \(user) is not known to this system"
    case .noToken(let user): "user \(user) has no token"
    case .misconfigured(.noServer, let path): "\(path): server is not set"
    case .misconfigured(let error, _): error.explanation
    case .service(.badReply(.refused(let reason))):
      "the service refused: \(DisplayText.sanitized(reason ?? "no reason given"))"
    case .service(.notFound): "the service does not know this application or user"
    case .records(let error): error.explanation
    case .noSession(let id): "no session \(DisplayText.sanitized(id, limit: 64))"
    case .severalSessions(let id): "more than one session begins with \(DisplayText.sanitized(id, limit: 64))"
    case .helperNotThere: "iampass-helper does not run"
    case .sessionStays(let id): "session \(id) has not ended yet"
    case .service(let error): "the service gave no usable answer: \(error.explanation)"
    }
  }

  var hint: String? {
    switch self {
    case .notRoot: "sudo iampassctl …"
    case .unknownUser: "check the spelling, or add it all the same with --force"
    case .noToken(let user): "iampassctl user add \(user)"
    case .misconfigured(let error, _): error.hint
    case .noSession, .severalSessions: "iampassctl session list"
    case .helperNotThere: "systemctl start iampass-helper"
    case .sessionStays: "journalctl --unit=iampass-helper"
    case .badUsername, .service, .records: nil
    }
  }

  var exitCode: Int32 {
    switch self {
    case .notRoot: EX_NOPERM
    case .badUsername: EX_USAGE
    case .unknownUser, .noToken: EX_NOUSER
    case .misconfigured: EX_CONFIG
    case .noSession, .severalSessions: EX_DATAERR
    case .records: EX_IOERR
    case .helperNotThere, .sessionStays: EX_TEMPFAIL
    case .service(.badReply), .service(.replyNotSigned), .service(.foreignAddress): EX_PROTOCOL
    case .service: EX_UNAVAILABLE
    }
  }
}

/// Prints a failure once, and exits as it says.
func reportingFailures(_ body: () throws -> Void) throws {
  do { try body() } catch let failure as Failure {
    var text = "iampassctl: \(failure.message)\n"
    if let hint = failure.hint { text += "hint: \(hint)\n" }
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    throw ExitCode(failure.exitCode)
  }
}

func requireRoot() throws(Failure) {
  guard geteuid() == 0 else { throw .notRoot }
}
