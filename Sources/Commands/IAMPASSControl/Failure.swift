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

/// Why a command stops: a code with its subject and its cause. ``problem`` is the message for the person at the
/// terminal.
enum Failure: Error {
  case notRoot
  case badUsername(String)
  case unknownUser(UnixUsername)
  /// The number of an export's users whom the system does not know. They were printed, and the others were imported.
  case notImported(Int, of: Int)
  /// The system did not answer whether it knows a user.
  case lookup(UserLookupError)
  case noToken(UnixUsername)
  /// Has the configuration's path.
  case misconfigured(Misconfiguration, path: String)
  case service(ServiceError)
  /// The service signs less than it announces, than its credential's file says, or than this computer has required so
  /// far.
  case signsLess(ServiceError, thanSaid: Bool)
  /// The user has a token here that the service does not know.
  case unknownAtService(UnixUsername)
  case records(LedgerError)
  case noSession(String)
  case severalSessions(String)
  /// This process does not run in a session that a phone opened.
  case noOwnSession
  /// The session is over, or is not watched.
  case notRenewable(String)
  case helperNotThere
  /// The helper has not ended the session in time.
  case sessionStays(String)
  case file(FileError)
  /// Standard output has not taken all output. Has errno.
  case outputLost(Int32)
  /// The user pressed Ctrl-C, or the input has ended.
  case interrupted
  /// The user pressed Ctrl-C, or the input has ended, before a file was written.
  case interruptedUnchanged
  /// The setup's folder is missing.
  case notSetUp(folder: String)
  /// Another iampassctl holds the lock.
  case busy
  /// A required option is missing, and there is no terminal to ask at.
  case missingOption(String)
  case badAddress(String, AddressError)
  case badApplicationID
  case badSecret
  case unreachable(ServerURL, TransportError)
  case unknownApplication(String)
  /// The clocks differ too much: the service refuses every signature.
  case clockDiffers(Finding)
  /// The service does not accept the credential with any signing scheme.
  case notAccepted
  /// The service does not accept the credential for managing users and phones.
  case mayNotManage(credentials: String)
  case badToken
  case secretsToTerminal
  case noPhoneCame(UnixUsername)
  /// The user has as many phones as the service allows, so another link would not work. Has their names.
  case hasPhones(UnixUsername, [String])
  /// The user has no phone at the service.
  case noPhone(UnixUsername)
  /// The service does not give the keys of phones.
  case keysNotTold
  /// The service's links lead to this address, and not to the configuration's `server`.
  case linkElsewhere(String, ServerURL)
  /// The phone's keys are not P-256 keys in their usual form.
  case unusableKeys(UnixUsername)
  /// The six words are missing, and there is no terminal to ask at.
  case wordsNeeded(UnixUsername)
  /// The phone at the service has other words than those that were typed.
  case otherWords(UnixUsername)
  /// The user has no such pinned phone. Has the requested id; nil: any phone.
  case notPinned(UnixUsername, phone: String?)
  /// The user has these phones, and the command does not name one.
  case severalPhones(UnixUsername, [String])
  /// Not exactly one phone of the user has this name, or an id that begins so.
  case noSuchPhone(UnixUsername, String)
  case stoppedWaiting(UnixUsername)
  /// `check` has found problems and has printed them.
  case problemsFound
  case profilesNotOn
  case profilesNotOff
  /// The file of pam_iampass.so is missing.
  case moduleMissing
  /// pam_u2f.so of libpam-u2f is missing.
  case keyModuleMissing
  case keyProgramMissing
  /// pamu2fcfg did not print a key.
  case keyNotRegistered(UnixUsername)
  /// A user of this name has a key, but the system did not give the user's id.
  case keyOfUnknownUser(String)
  case pamFile(PAMFileError)
  /// `approvals = verified`, and no approval of the user could be verified.
  case phoneNotTrusted(UnixUsername, TrustGap)
  /// `approvals = verified`, and this computer trusted the phone only until it was asked.
  case phoneForgotten(UnixUsername)
  /// `approvals = verified`, and the service does not support such approvals.
  case notVerifiable
  /// A program failed. Has its name and output.
  case programFailed(String, String)
  case sshdRefuses(String)
  /// `sshd -T` failed before a change was made. Has its output.
  case sshdUnreadable(String)
  case noSystemd
  /// libpam did not start. Has the name of its code.
  case pam(String, String)
  /// A test sign-in was not approved. Has the service's word for it.
  case notApproved(String)
  case presence(PresenceProblem)
  case join(JoinProblem)
  case change(UserChangeProblem)
  case recovery(RecoveryError)
  case collect(CollectProblem)
  /// The service has no route for audit entries.
  case auditNotTold
  /// The computer uses the application's credential, which others may use too.
  case auditNotForApplications
  /// The audit has more pages than are read.
  case auditTooLong
  /// Recovery codes are shown only on a terminal.
  case codesNeedTerminal
}

extension Failure {
  var message: String { problem.message }

  fileprivate var isInterruption: Bool { problem.exitCode == Interrupt.exitCode }

  fileprivate func complain() {
    problem.report(by: "iampassctl")
  }

  /// Whether the service may have made the change although it did not confirm it.
  var mayHaveArrived: Bool {
    switch self {
    case .unreachable(_, let error): error.code.mayHaveArrived
    case .interrupted, .service: true
    default: false
    }
  }
}

/// Prints a failure once, and exits with its code. Lost output counts as a failure if there is no other.
func reportingFailures(_ body: () throws -> Void) throws {
  var end: ExitCode?
  do { try body() } catch let failure as Failure {
    // On a terminal a prompt or a spinner may stand in the line.
    if failure.isInterruption, isatty(STDERR_FILENO) == 1 { Terminal.complain("") }
    failure.complain()
    end = ExitCode(failure.problem.exitCode)
  } catch let code as ExitCode where Terminal.outputError == nil { throw code } catch is ExitCode {
    // The output was lost, so it could not be shown.
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
