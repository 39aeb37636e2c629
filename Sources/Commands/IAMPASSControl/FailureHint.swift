import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

extension Failure {
  /// What to do next; nil if nothing is known to help.
  var hint: String? {
    switch self {
    case .notRoot: "sudo iampassctl …"
    case .unknownUser: "check the spelling, or add it all the same with --force"
    case .lookup: "getent passwd USER, and the sources in /etc/nsswitch.conf"
    case .noToken(let user), .unknownAtService(let user): "iampassctl user add \(user)"
    case .misconfigured(.noServer, _): "iampassctl setup"
    case .misconfigured(.users(.tokenIsShared, _), _): SharedTokenFindings.ownTokens
    case .misconfigured(.phones(.badLine, let path), _), .misconfigured(.phones(.phoneTwice, let path), _):
      "remove the line from \(path), or iampassctl phone forget USER"
    case .misconfigured(.phones(.tooMany, _), _): "iampassctl phone forget USER --phone ID"
    case .misconfigured(let error, _): error.hint
    case .noSession, .severalSessions, .noOwnSession, .notRenewable: "iampassctl session list"
    case .helperNotThere: "systemctl start iampass-helper"
    case .sessionStays: "journalctl --unit=iampass-helper"
    case .records: nil
    case .file(let error): error.hint
    case .notSetUp: "iampassctl setup"
    case .busy: "answer its questions or end it, then try again"
    case .missingOption: "iampassctl setup --help"
    case .badAddress: "https://iampass.example.com"
    case .signsLess(_, thanSaid: true):
      "the service says that it signs: somebody may be in between, such as a proxy that takes headers away"
    case .signsLess(_, thanSaid: false):
      "somebody may be in between; for another service, which never signs: iampassctl setup --unsigned"
    case .unreachable(let server, let error): error.code.hint(for: server)
    case .unknownApplication, .notAccepted: "iampassctl setup --application-id ID, which asks for the secret again"
    case .clockDiffers(let finding): finding.hint
    case .mayNotManage: "give the application's own credential with --credentials FILE, or iampassctl check"
    case .secretsToTerminal: "iampassctl user export FILE"
    case .noPhoneCame(let user): "iampassctl enroll \(user), for a new link"
    case .phoneNotTrusted(let user, _), .phoneForgotten(let user): "iampassctl phone trust \(user)"
    case .notVerifiable: "update iampass-server, or set approvals = service"
    case .noPhone(let user): "iampassctl enroll \(user)"
    case .linkElsewhere: "let server here, and --public-url of iampass-server, name the same address"
    case .keysNotTold: "pinning needs iampass-server 0.10.0 or later"
    case .wordsNeeded(let user): "iampassctl phone trust \(user) --words 'WORD WORD WORD WORD WORD WORD'"
    case .otherWords: "read them from the phone again; if they still differ, take the service for broken into"
    case .notPinned: "iampassctl phone list"
    case .severalPhones(let user, _): "iampassctl lost-device \(user) --phone NAME, or --all-phones"
    case .noSuchPhone(let user, _): "iampassctl lost-device \(user), which names them"
    case .stoppedWaiting(let user): "iampassctl user show \(user), to see whether it came"
    case .problemsFound: "mend them (iampassctl check), or give --force"
    case .profilesNotOn: "add the lines above by hand; pam-auth-update --force would throw those of your own away"
    case .profilesNotOff: "with a root shell open, remove the lines above by hand"
    case .keyModuleMissing: "apt install libpam-u2f"
    case .keyProgramMissing: "apt install pamu2fcfg"
    case .keyNotRegistered: "plug it in, touch it when it blinks, then try again"
    case .keyOfUnknownUser(let name): "iampassctl lost-device --security-key \(DisplayText.sanitized(name, limit: 64))"
    case .moduleMissing: "apt install --reinstall libpam-iampass"
    case .sshdRefuses: "sshd -t; does sshd_config include sshd_config.d?"
    case .sshdUnreadable: "mend what sshd -t names, or leave sshd out: --services sudo,login"
    case .presence(let problem): problem.hint
    case .join(let problem): problem.hint
    case .change(let problem): problem.hint
    case .collect(let problem): problem.hint
    case .recovery(.file(let error)): error.hint
    case .recovery(.damaged), .recovery(.notThisComputers), .recovery(.notThisUsers): "iampassctl recovery create USER"
    case .recovery: nil
    case .auditNotTold: "update iampass-server"
    case .auditNotForApplications: "iampass-server host-credential create, or iampassctl join; or --local"
    case .auditTooLong: "name a later --since"
    case .codesNeedTerminal: "--any-output, which writes them there"
    case .pamFile, .programFailed, .noSystemd: nil
    case .pam: "ls /etc/pam.d, for the names of services"
    case .badUsername, .service, .outputLost, .interrupted, .interruptedUnchanged, .badApplicationID, .badSecret,
      .badToken, .notApproved, .unusableKeys:
      nil
    }
  }
}
