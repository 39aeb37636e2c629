import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// Why a command stops: what, where, and what next; with an exit code of sysexits.h.
enum Failure: Error {
  case notRoot
  case badUsername(String)
  case unknownUser(UnixUsername)
  /// The system does not say whether it knows a user.
  case lookup(UserLookupError)
  case noToken(UnixUsername)
  /// With the configuration's path.
  case misconfigured(Misconfiguration, path: String)
  case service(ServiceError)
  /// Less than the service announces, than its credential's file says, or than this computer has required so far.
  case signsLess(ServiceError, thanSaid: Bool)
  /// The user has a token here that the service does not know.
  case unknownAtService(UnixUsername)
  case records(LedgerError)
  case noSession(String)
  case severalSessions(String)
  /// This process runs in none that a phone opened.
  case noOwnSession
  /// It is over, or nobody watches it.
  case notRenewable(String)
  case helperNotThere
  /// The helper has not ended it in time.
  case sessionStays(String)
  case file(FileError)
  /// Standard output has not taken everything, with errno.
  case outputLost(Int32)
  /// Ctrl-C, or the end of what is typed.
  case interrupted
  /// The same, before anything was written.
  case interruptedUnchanged
  /// Not even the folder is there.
  case notSetUp(folder: String)
  /// Another iampassctl holds the lock.
  case busy
  /// Needed, not given, and nobody there to ask.
  case missingOption(String)
  case badAddress(String, AddressError)
  case badApplicationID
  case badSecret
  case unreachable(ServerURL, TransportError)
  case unknownApplication(String)
  /// The service refuses every signature for it.
  case clockDiffers(Finding)
  /// No signing scheme makes the service accept the credential.
  case notAccepted
  /// The credential is not accepted for managing users and phones.
  case mayNotManage(credentials: String)
  case badToken
  case secretsToTerminal
  case noPhoneCame(UnixUsername)
  /// The service does not have a phone of the user.
  case noPhone(UnixUsername)
  /// The service does not tell the keys of phones.
  case keysNotTold
  /// The service's links lead there, and not to the configuration's `server`.
  case linkElsewhere(String, ServerURL)
  /// They are not P-256 keys in their usual form.
  case unusableKeys(UnixUsername)
  /// The six words are not given, and nobody is there to ask.
  case wordsNeeded(UnixUsername)
  /// The phone that the service has shows other words than those that were typed.
  case otherWords(UnixUsername)
  /// With the id that was asked for; nil: any phone.
  case notPinned(UnixUsername, phone: String?)
  /// The user has these phones, and none of them is named.
  case severalPhones(UnixUsername, [String])
  /// Not exactly one phone of the user has this name, or an id that begins so.
  case noSuchPhone(UnixUsername, String)
  case stoppedWaiting(UnixUsername)
  /// `check` has found some, and they were shown.
  case problemsFound
  case profilesNotOn
  case profilesNotOff
  /// pam_iampass.so's own file.
  case moduleMissing
  /// pam_u2f.so, of libpam-u2f.
  case keyModuleMissing
  case keyProgramMissing
  /// pamu2fcfg has printed no key.
  case keyNotRegistered(UnixUsername)
  /// A user of this name has a key, and the system does not say which user id that is.
  case keyOfUnknownUser(String)
  case pamFile(PAMFileError)
  /// `approvals = verified`, and no approval of the user could be verified.
  case phoneNotTrusted(UnixUsername, TrustGap)
  /// `approvals = verified`, and this computer trusted the phone only until it was asked.
  case phoneForgotten(UnixUsername)
  /// `approvals = verified`, and the service knows no such approvals.
  case notVerifiable
  /// With its output.
  case programFailed(String, String)
  case sshdRefuses(String)
  /// `sshd -T` fails before anything was changed; with its output.
  case sshdUnreadable(String)
  case noSystemd
  /// libpam does not begin, with its code's name.
  case pam(String, String)
  /// A test sign-in, with the service's word for it.
  case notApproved(String)
  case presence(PresenceProblem)
  case join(JoinProblem)
  case change(UserChangeProblem)
  case recovery(RecoveryError)
  case collect(CollectProblem)
  /// The service has no route for it.
  case auditNotTold
  /// The computer has the application's own credential, which others may have, too.
  case auditNotForApplications
  /// More pages than are read.
  case auditTooLong
  /// Recovery codes are shown on a terminal only.
  case codesNeedTerminal

  var message: String {
    switch self {
    case .notRoot: "only root can do this"
    case .badUsername(let text): "\(DisplayText.sanitized(text, limit: 64)) is not a user name"
    case .unknownUser(let user): "user \(user) is not known to this system"
    case .lookup(let error): error.explanation
    case .noToken(let user): "user \(user) has no token"
    case .misconfigured(.noServer, let path): "\(path): server is not set"
    case .misconfigured(let error, _): error.explanation
    case .file(let error): error.explanation
    case .outputLost(let number): "standard output: \(String(cString: strerror(number)))"
    case .interrupted: "interrupted"
    case .interruptedUnchanged: "interrupted; nothing was changed"
    case .notSetUp(let folder): "\(folder) is missing"
    case .busy: "another iampassctl is still running"
    case .missingOption(let option): "\(option) is needed where there is no terminal to ask at"
    case .badAddress(let text, .notHTTPS): "\(DisplayText.sanitized(text)) is not https"
    case .badAddress(let text, _): "\(DisplayText.sanitized(text)) is not the address of a service"
    case .badApplicationID: "an application id is printable text without spaces"
    case .badSecret: "a secret is printable text without spaces"
    case .unreachable(let server, let error):
      "\(server) cannot be asked: \(ServiceError.transport(error).explanation)"
    case .unknownApplication(let id): "the service does not know the application \(DisplayText.sanitized(id))"
    case .clockDiffers(let finding): finding.text
    case .notAccepted: "the service does not accept this id and secret, whichever way they sign"
    case .mayNotManage(let path): "the service does not let the credential of \(path) manage users and phones"
    case .badToken: "a token is printable text without spaces, quotes, colons and backslashes, of 512 bytes at most"
    case .secretsToTerminal: "tokens are secrets and are not shown on a terminal"
    case .noPhoneCame(let user): "no phone registered for \(user)"
    case .phoneNotTrusted(let user, .noPhone): "this computer trusts no phone of \(user) (approvals = verified)"
    case .phoneNotTrusted(let user, .noMethod):
      "no phone of \(user) that this computer trusts has a method that is asked for (approvals = verified)"
    case .phoneForgotten(let user):
      "this computer stopped trusting \(user)'s phone while the phone was asked (approvals = verified)"
    case .notVerifiable: "the service knows no approvals that this computer could verify (approvals = verified)"
    case .noPhone(let user): "user \(user) does not have a phone"
    case .keysNotTold: "the service does not tell the keys of phones"
    case .linkElsewhere(let address, let server):
      "the service registers phones at \(Self.place(of: address)), and server is \(server): such a phone signs nobody in here"
    case .unusableKeys(let user):
      "the keys of \(user)'s phone cannot be pinned: they are not P-256 keys in the usual form"
    case .wordsNeeded: "the six words are needed, and there is no terminal to ask at"
    case .otherWords(let user): "the phone that the service has for \(user) shows other words; it is not pinned"
    case .notPinned(let user, nil): "this computer has not pinned a phone of \(user)"
    case .notPinned(let user, let id?):
      "this computer has not pinned exactly one phone of \(user) whose id begins with \(DisplayText.sanitized(id, limit: 64))"
    case .severalPhones(let user, let names):
      "\(user) has \(names.count) phones: \(names.joined(separator: ", "))"
    case .noSuchPhone(let user, let name):
      "\(user) does not have exactly one phone of the name or id \(DisplayText.sanitized(name, limit: 64))"
    case .stoppedWaiting(let user): "not waiting for \(user)'s phone any more; the link stays good"
    case .problemsFound: "nothing was changed, because of the problems above"
    case .profilesNotOn: "pam-auth-update left files in /etc/pam.d as they are, because an administrator edited them"
    case .profilesNotOff: "lines of pam_iampass.so are still in force, which pam-auth-update does not take away"
    case .keyModuleMissing: "pam_u2f.so is not in the folder of PAM modules: no security key could sign anybody in"
    case .keyProgramMissing: "pamu2fcfg is missing, which registers security keys"
    case .keyNotRegistered(let user): "no security key was registered for \(user)"
    case .keyOfUnknownUser(let name):
      "the system does not know \(DisplayText.sanitized(name, limit: 64)), who has a security key"
    case .moduleMissing: "pam_iampass.so is not in the folder of PAM modules: nobody would be asked on the phone"
    case .pamFile(let error): error.explanation
    case .programFailed(let name, let output):
      "\(name) failed" + (output.isEmpty ? "" : ": \(DisplayText.sanitized(output, limit: 500))")
    case .sshdRefuses(let output):
      "sshd does not take the new settings" + (output.isEmpty ? "" : ": \(DisplayText.sanitized(output, limit: 500))")
    case .sshdUnreadable(let output):
      "sshd -T failed, so whether sshd asks the phone is unknown"
        + (output.isEmpty ? "" : ": \(DisplayText.sanitized(output, limit: 500))")
    case .noSystemd: "a trial needs systemd, which does not run here"
    case .pam(let service, let code): "libpam cannot begin with the service \(service): \(code)"
    case .notApproved(let reason): "the sign-in was not approved: \(reason)"
    case .presence(let problem): problem.message
    case .join(let problem): problem.message
    case .change(let problem): problem.message
    case .recovery(let error): error.explanation
    case .collect(let problem): problem.message
    case .auditNotTold: "the service does not tell computers what it noted"
    case .auditNotForApplications: "the service tells this only to a computer that has a credential of its own"
    case .auditTooLong: "the service noted more than is read at once"
    case .codesNeedTerminal: "recovery codes are secrets, and standard output is not a terminal"
    case .service(.badReply(.refused(let reason))):
      "the service refused: \(ReasonWord.text(of: reason) ?? "no reason that this version knows; see the service's log")"
    case .service(.notFound), .unknownAtService: "the service does not know this application or user"
    case .records(let error): error.explanation
    case .noSession(let id): "no session \(DisplayText.sanitized(id, limit: 64))"
    case .severalSessions(let id): "more than one session begins with \(DisplayText.sanitized(id, limit: 64))"
    case .noOwnSession: "this is not a session that a phone opened"
    case .notRenewable(let id): "session \(id) is over, or not a login session"
    case .helperNotThere: "iampass-helper does not run"
    case .sessionStays(let id): "session \(id) has not ended yet"
    case .service(let error), .signsLess(let error, _):
      "the service gave no usable answer: \(error.explanation)"
    }
  }
}

extension Failure {
  /// Without the path, which holds the code that registers a phone.
  private static func place(of address: String) -> String {
    let parts = address.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty else { return "another place" }
    return DisplayText.sanitized("\(parts[0])//\(parts[2].prefix { $0 != "/" })", limit: 100)
  }

  fileprivate var isInterruption: Bool { exitCode == Interrupt.exitCode }

  /// The failure in a command's words.
  var problem: CommandProblem { CommandProblem(message: message, hint: hint, exitCode: exitCode) }

  fileprivate func complain() {
    problem.report(by: "iampassctl")
  }

  /// Whether the service may have done what was asked although it did not say so.
  var mayHaveArrived: Bool {
    switch self {
    case .unreachable(_, let error): error.code.mayHaveArrived
    case .interrupted, .service: true
    default: false
    }
  }
}

/// Prints a failure once, and exits as it says. Output that was lost is one, of a command that had no other.
func reportingFailures(_ body: () throws -> Void) throws {
  var end: ExitCode?
  do { try body() } catch let failure as Failure {
    // On a terminal a prompt or a spinner may stand in the line.
    if failure.isInterruption, isatty(STDERR_FILENO) == 1 { Terminal.complain("") }
    failure.complain()
    end = ExitCode(failure.exitCode)
  } catch let code as ExitCode where Terminal.outputError == nil { throw code } catch is ExitCode {
    // What was found was not shown.
  }
  if let number = Terminal.outputError {
    let lost = Failure.outputLost(number)
    lost.complain()
    end = end ?? ExitCode(lost.exitCode)
  }
  if let end { throw end }
}

func requireRoot() throws(Failure) {
  guard geteuid() == 0 else { throw .notRoot }
}
