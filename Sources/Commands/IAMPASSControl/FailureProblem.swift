import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

extension Failure {
  /// The message and the exit code: one row for each case.
  var problem: CommandProblem {
    switch self {
    case .notRoot: row("only root can do this", "sudo iampassctl …", EX_NOPERM)
    case .busy:
      row("another iampassctl is still running", "answer its questions or end it, then try again", EX_TEMPFAIL)
    case .interrupted: row("interrupted", nil, Interrupt.exitCode)
    case .interruptedUnchanged: row("interrupted; nothing was changed", nil, Interrupt.exitCode)
    case .outputLost(let number): row("standard output: \(String(cString: strerror(number)))", nil, EX_IOERR)
    case .file(let error): row(error.explanation, error.hint, Self.exitCode(of: error))
    case .problemsFound:
      row(
        "nothing was changed, because of the problems above", "mend them (iampassctl check), or give --force",
        EX_CONFIG)

    // MARK: Users, tokens and phones

    case .badUsername(let text): row("\(DisplayText.sanitized(text, limit: 64)) is not a user name", nil, EX_USAGE)
    case .unknownUser(let user):
      row(
        "user \(user) is not known to this system", "check the spelling, or add it all the same with --force",
        EX_NOUSER)
    case .notImported(let count, let all):
      row(
        "\(count) of \(Words.counted(all, "user")) not imported",
        "add their accounts to this system and run it again, or take them all the same with --force", EX_NOUSER)
    case .lookup(let error):
      row(error.explanation, "getent passwd USER, and the sources in /etc/nsswitch.conf", EX_TEMPFAIL)
    case .noToken(let user): row("user \(user) has no token", "iampassctl user add \(user)", EX_NOUSER)
    case .badToken:
      row(
        "a token is printable text without spaces, quotes, colons and backslashes, of 512 bytes at most", nil,
        EX_DATAERR)
    case .secretsToTerminal:
      row("tokens are secrets and are not shown on a terminal", "iampassctl user export FILE", EX_USAGE)
    case .noPhone(let user): row("user \(user) does not have a phone", "iampassctl enroll \(user)", EX_NOUSER)
    case .hasPhones(let user, let names):
      row(
        "\(user) has \(names.count == 1 ? "a phone" : "\(names.count) phones") already: \(names.joined(separator: ", "))",
        names.count == 1
          ? "if it is gone, iampassctl lost-device \(user); for a second one, iampass-server application set APPLICATION --phones 2"
          : "if one is gone, iampassctl lost-device \(user) --phone NAME", EX_DATAERR)
    case .noPhoneCame(let user):
      row("no phone registered for \(user)", "iampassctl enroll \(user), for a new link", EX_TEMPFAIL)
    case .stoppedWaiting(let user):
      row(
        "not waiting for \(user)'s phone any more; the link stays good",
        "iampassctl user show \(user), to see whether it came", Interrupt.exitCode)
    case .severalPhones(let user, let names):
      row(
        "\(user) has \(names.count) phones: \(names.joined(separator: ", "))",
        "iampassctl lost-device \(user) --phone NAME, or --all-phones", EX_USAGE)
    case .noSuchPhone(let user, let name):
      row(
        "\(user) does not have exactly one phone of the name or id \(DisplayText.sanitized(name, limit: 64))",
        "iampassctl lost-device \(user), which names them", EX_DATAERR)

    // MARK: Keys that this computer trusts

    case .keysNotTold:
      row(
        "the service does not tell the keys of phones", "pinning needs iampass-server 0.10.0 or later", EX_UNAVAILABLE)
    case .linkElsewhere(let address, let server):
      row(
        "the service registers phones at \(Self.place(of: address)), and server is \(server): such a phone signs nobody in here",
        "let server here, and --public-url of iampass-server, name the same address", EX_CONFIG)
    case .unusableKeys(let user):
      row(
        "the keys of \(user)'s phone cannot be pinned: they are not P-256 keys in the usual form", nil, EX_PROTOCOL)
    case .wordsNeeded(let user):
      row(
        "the six words are needed, and there is no terminal to ask at",
        "iampassctl phone trust \(user) --words 'WORD WORD WORD WORD WORD WORD'", EX_USAGE)
    case .otherWords(let user):
      row(
        "the phone that the service has for \(user) shows other words; it is not pinned",
        "read them from the phone again; if they still differ, take the service for broken into", EX_DATAERR)
    case .notPinned(let user, nil):
      row("this computer has not pinned a phone of \(user)", "iampassctl phone list", EX_DATAERR)
    case .notPinned(let user, let id?):
      row(
        "this computer has not pinned exactly one phone of \(user) whose id begins with \(DisplayText.sanitized(id, limit: 64))",
        "iampassctl phone list", EX_DATAERR)
    case .phoneNotTrusted(let user, .noPhone):
      row(
        "this computer trusts no phone of \(user) (approvals = verified)", "iampassctl phone trust \(user)", EX_CONFIG)
    case .phoneNotTrusted(let user, .noMethod):
      row(
        "no phone of \(user) that this computer trusts has a method that is asked for (approvals = verified)",
        "iampassctl phone trust \(user)", EX_CONFIG)
    case .phoneForgotten(let user):
      row(
        "this computer stopped trusting \(user)'s phone while the phone was asked (approvals = verified)",
        "iampassctl phone trust \(user)", EX_CONFIG)
    case .notVerifiable:
      row(
        "the service knows no approvals that this computer could verify (approvals = verified)",
        "update iampass-server", EX_PROTOCOL)

    // MARK: The configuration

    case .misconfigured(let error, let path): misconfigured(error, path)
    case .notSetUp(let folder): row("\(folder) is missing", "iampassctl setup", EX_CONFIG)
    case .missingOption(let option):
      row("\(option) is needed where there is no terminal to ask at", "iampassctl setup --help", EX_USAGE)
    case .badAddress(let text, .notHTTPS):
      row("\(DisplayText.sanitized(text)) is not https", "https://iampass.example.com", EX_USAGE)
    case .badAddress(let text, _):
      row("\(DisplayText.sanitized(text)) is not the address of a service", "https://iampass.example.com", EX_USAGE)
    case .badApplicationID: row("an application id is printable text without spaces", nil, EX_DATAERR)
    case .badSecret: row("a secret is printable text without spaces", nil, EX_DATAERR)

    // MARK: The service

    case .unreachable(let server, let error):
      row(
        "\(server) cannot be asked: \(ServiceError.transport(error).explanation)", error.code.hint(for: server),
        EX_UNAVAILABLE)
    case .unknownApplication(let id):
      row("the service does not know the application \(DisplayText.sanitized(id))", Self.otherCredential, EX_NOPERM)
    case .notAccepted:
      row("the service does not accept this id and secret, whichever way they sign", Self.otherCredential, EX_NOPERM)
    case .clockDiffers(let finding): row(finding.text, finding.hint, EX_UNAVAILABLE)
    case .mayNotManage(let path):
      row(
        "the service does not let the credential of \(path) manage users and phones",
        "give the application's own credential with --credentials FILE, or iampassctl check", EX_NOPERM)
    case .service(.badReply(.refused(let reason))):
      row(
        "the service refused: \(ReasonWord.text(of: reason) ?? "no reason that this version knows; see the service's log")",
        nil, EX_PROTOCOL)
    case .service(.notFound): row("the service does not know this application or user", nil, EX_UNAVAILABLE)
    case .unknownAtService(let user):
      row("the service does not know this application or user", "iampassctl user add \(user)", EX_UNAVAILABLE)
    case .service(let error): row(Self.noAnswer(error), nil, Self.exitCode(of: error))
    case .signsLess(let error, thanSaid: true):
      row(
        Self.noAnswer(error),
        "the service says that it signs: somebody may be in between, such as a proxy that takes headers away",
        EX_PROTOCOL)
    case .signsLess(let error, thanSaid: false):
      row(
        Self.noAnswer(error),
        "somebody may be in between; for another service, which never signs: iampassctl setup --unsigned", EX_PROTOCOL)
    case .notApproved(let reason): row("the sign-in was not approved: \(reason)", nil, EX_TEMPFAIL)
    case .auditNotTold:
      row("the service does not tell computers what it noted", "update iampass-server", EX_UNAVAILABLE)
    case .auditNotForApplications:
      row(
        "the service tells this only to a computer that has a credential of its own",
        "iampass-server host-credential create, or iampassctl join; or --local", EX_NOPERM)
    case .auditTooLong:
      row("the service noted more than is read at once", "name a later --since", EX_UNAVAILABLE)

    // MARK: Sessions

    case .records(let error): row(error.explanation, nil, EX_IOERR)
    case .noSession(let id):
      row("no session \(DisplayText.sanitized(id, limit: 64))", "iampassctl session list", EX_DATAERR)
    case .severalSessions(let id):
      row(
        "more than one session begins with \(DisplayText.sanitized(id, limit: 64))", "iampassctl session list",
        EX_DATAERR)
    case .noOwnSession: row("this is not a session that a phone opened", "iampassctl session list", EX_DATAERR)
    case .notRenewable(let id):
      row("session \(id) is over, or not a login session", "iampassctl session list", EX_DATAERR)
    case .helperNotThere: row("iampass-helper does not run", "systemctl start iampass-helper", EX_TEMPFAIL)
    case .sessionStays(let id):
      row("session \(id) has not ended yet", "journalctl --unit=iampass-helper", EX_TEMPFAIL)

    // MARK: PAM, sshd and security keys

    case .profilesNotOn:
      row(
        "pam-auth-update left files in /etc/pam.d as they are, because an administrator edited them",
        "add the lines above by hand; pam-auth-update --force would throw those of your own away", EX_CANTCREAT)
    case .profilesNotOff:
      row(
        "lines of pam_iampass.so are still in force, which pam-auth-update does not take away",
        "with a root shell open, remove the lines above by hand", EX_CANTCREAT)
    case .moduleMissing:
      row(
        "pam_iampass.so is not in the folder of PAM modules: nobody would be asked on the phone",
        "apt install --reinstall libpam-iampass", EX_NOINPUT)
    case .pamFile(let error): row(error.explanation, nil, EX_CONFIG)
    case .pam(let service, let code):
      row(
        "libpam cannot begin with the service \(service): \(code)", "ls /etc/pam.d, for the names of services",
        EX_OSERR)
    case .programFailed(let name, let output): row("\(name) failed" + Self.said(output), nil, EX_OSERR)
    case .noSystemd: row("a trial needs systemd, which does not run here", nil, EX_OSERR)
    case .sshdRefuses(let output):
      row(
        "sshd does not take the new settings" + Self.said(output), "sshd -t; does sshd_config include sshd_config.d?",
        EX_CANTCREAT)
    case .sshdUnreadable(let output):
      row(
        "sshd -T failed, so whether sshd asks the phone is unknown" + Self.said(output),
        "mend what sshd -t names, or leave sshd out: --services sudo,login", EX_CONFIG)
    case .keyModuleMissing:
      row(
        "pam_u2f.so is not in the folder of PAM modules: no security key could sign anybody in",
        "apt install libpam-u2f", EX_NOINPUT)
    case .keyProgramMissing:
      row("pamu2fcfg is missing, which registers security keys", "apt install pamu2fcfg", EX_NOINPUT)
    case .keyNotRegistered(let user):
      row(
        "no security key was registered for \(user)", "plug it in, touch it when it blinks, then try again",
        EX_UNAVAILABLE)
    case .keyOfUnknownUser(let name):
      row(
        "the system does not know \(DisplayText.sanitized(name, limit: 64)), who has a security key",
        "iampassctl lost-device --security-key \(DisplayText.sanitized(name, limit: 64))", EX_NOUSER)

    // MARK: Parts with problems of their own

    case .presence(let problem): row(problem.message, problem.hint, problem.exitCode)
    case .join(let problem): row(problem.message, problem.hint, problem.exitCode)
    case .change(let problem): row(problem.message, problem.hint, problem.exitCode)
    case .collect(let problem): row(problem.message, problem.hint, problem.exitCode)
    case .codesNeedTerminal:
      row(
        "recovery codes are secrets, and standard output is not a terminal", "--any-output, which writes them there",
        EX_USAGE)
    case .recovery(.file(let error)):
      row(RecoveryError.file(error).explanation, error.hint, Self.exitCode(ofDeciding: error))
    case .recovery(let error): recovery(error)
    }
  }

  private func row(_ message: String, _ hint: String?, _ exitCode: Int32) -> CommandProblem {
    CommandProblem(message: message, hint: hint, exitCode: exitCode)
  }

  private func misconfigured(_ error: Misconfiguration, _ path: String) -> CommandProblem {
    let exitCode: Int32 =
      if error.failedLookup != nil {
        EX_TEMPFAIL
      } else if case .users(.tokenIsAnothers, _) = error {
        EX_DATAERR
      } else {
        Self.exitCode(ofDeciding: error.file)
      }
    return switch error {
    case .noServer: row("\(path): server is not set", "iampassctl setup", exitCode)
    case .users(.tokenIsShared, _): row(error.explanation, SharedTokenFindings.ownTokens, exitCode)
    case .phones(.badLine, let path), .phones(.phoneTwice, let path):
      row(error.explanation, "remove the line from \(path), or iampassctl phone forget USER", exitCode)
    case .phones(.tooMany, _): row(error.explanation, "iampassctl phone forget USER --phone ID", exitCode)
    default: row(error.explanation, error.hint, exitCode)
    }
  }

  private func recovery(_ error: RecoveryError) -> CommandProblem {
    switch error {
    case .damaged, .notThisComputers, .notThisUsers:
      row(error.explanation, "iampassctl recovery create USER", EX_CONFIG)
    case .cannotHash, .cannotSeal, .unknownComputer: row(error.explanation, nil, EX_OSERR)
    default: row(error.explanation, nil, EX_CONFIG)
    }
  }

  private static let otherCredential = "iampassctl setup --application-id ID, which asks for the secret again"

  private static func noAnswer(_ error: ServiceError) -> String {
    "the service gave no usable answer: \(error.explanation)"
  }

  /// A program's output, after a colon.
  private static func said(_ output: String) -> String {
    output.isEmpty ? "" : ": \(DisplayText.sanitized(output, limit: 500))"
  }

  /// The address without its path, which has the code that registers a phone.
  private static func place(of address: String) -> String {
    let parts = address.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty else { return "another place" }
    return DisplayText.sanitized("\(parts[0])//\(parts[2].prefix { $0 != "/" })", limit: 100)
  }

  private static func exitCode(of error: ServiceError) -> Int32 {
    switch error {
    case .badReply, .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .approvalNotVerified, .foreignAddress:
      EX_PROTOCOL
    default: EX_UNAVAILABLE
    }
  }

  /// The exit code for a file that a command was given.
  private static func exitCode(of error: FileError) -> Int32 {
    error.code == .missing ? EX_NOINPUT : exitCode(ofDeciding: error)
  }

  /// The exit code for a file that decides on sign-ins; nil: another error of the configuration.
  private static func exitCode(ofDeciding error: FileError?) -> Int32 {
    if case .system = error?.code { EX_IOERR } else { EX_CONFIG }
  }
}
