import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import PAMStacks
import WorkerLink

/// Why a command stops: a code with its subject and its cause. ``problem`` says it to the person at the terminal.
enum Failure: Error {
  case notRoot
  case badUsername(String)
  case unknownUser(UnixUsername)
  /// How many of an export's users the system does not know; they were named. The others were imported.
  case notImported(Int, of: Int)
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
  /// As many as the service lets a user have, with their names: a link for a further one would not work.
  case hasPhones(UnixUsername, [String])
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
}

extension Failure {
  var message: String { problem.message }

  fileprivate var isInterruption: Bool { problem.exitCode == Interrupt.exitCode }

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
    end = ExitCode(failure.problem.exitCode)
  } catch let code as ExitCode where Terminal.outputError == nil { throw code } catch is ExitCode {
    // What was found was not shown.
  }
  if let number = Terminal.outputError {
    let lost = Failure.outputLost(number)
    lost.complain()
    end = end ?? ExitCode(lost.problem.exitCode)
  }
  if let end { throw end }
}

func requireRoot() throws(Failure) {
  guard geteuid() == 0 else { throw .notRoot }
}
