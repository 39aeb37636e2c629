import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient

extension Failure {
  /// The exit status, by sysexits.h, or 128 and a signal's number.
  var exitCode: Int32 {
    switch self {
    case .notRoot: EX_NOPERM
    case .badUsername: EX_USAGE
    case .unknownUser, .noToken, .noPhone: EX_NOUSER
    case .lookup: EX_TEMPFAIL
    case .misconfigured(let error, _) where error.failedLookup != nil: EX_TEMPFAIL
    case .misconfigured(.users(.tokenIsAnothers, _), _): EX_DATAERR
    case .misconfigured(let error, _): Self.exitCode(of: error.file)
    case .noSession, .severalSessions, .noOwnSession, .notRenewable: EX_DATAERR
    case .records: EX_IOERR
    case .keysNotTold: EX_UNAVAILABLE
    case .unusableKeys: EX_PROTOCOL
    case .wordsNeeded, .severalPhones: EX_USAGE
    case .otherWords, .notPinned, .noSuchPhone: EX_DATAERR
    case .helperNotThere, .sessionStays: EX_TEMPFAIL
    case .file(let error) where error.code == .missing: EX_NOINPUT
    case .moduleMissing, .keyModuleMissing, .keyProgramMissing: EX_NOINPUT
    case .keyNotRegistered: EX_UNAVAILABLE
    case .keyOfUnknownUser: EX_NOUSER
    case .file(let error): Self.exitCode(of: error)
    case .outputLost: EX_IOERR
    case .problemsFound, .pamFile, .sshdUnreadable: EX_CONFIG
    case .profilesNotOn, .profilesNotOff, .sshdRefuses: EX_CANTCREAT
    case .programFailed, .noSystemd: EX_OSERR
    case .pam: EX_OSERR
    case .presence(let problem): problem.exitCode
    case .join(let problem): problem.exitCode
    case .change(let problem): problem.exitCode
    case .collect(let problem): problem.exitCode
    case .mayNotManage: EX_NOPERM
    case .badToken: EX_DATAERR
    case .secretsToTerminal, .codesNeedTerminal: EX_USAGE
    case .auditNotTold, .auditTooLong: EX_UNAVAILABLE
    case .auditNotForApplications: EX_NOPERM
    case .recovery(.file(let error)): Self.exitCode(of: error)
    case .recovery(.cannotHash), .recovery(.cannotSeal), .recovery(.unknownComputer): EX_OSERR
    case .recovery: EX_CONFIG
    case .phoneNotTrusted, .phoneForgotten, .linkElsewhere: EX_CONFIG
    case .notVerifiable: EX_PROTOCOL
    case .noPhoneCame, .notApproved: EX_TEMPFAIL
    case .interrupted, .interruptedUnchanged, .stoppedWaiting: Interrupt.exitCode
    case .notSetUp: EX_CONFIG
    case .busy: EX_TEMPFAIL
    case .missingOption, .badAddress: EX_USAGE
    case .badApplicationID, .badSecret: EX_DATAERR
    case .unreachable, .clockDiffers: EX_UNAVAILABLE
    case .unknownApplication, .notAccepted: EX_NOPERM
    case .service(.badReply), .service(.replyNotSigned), .service(.replyTargetNotSigned),
      .service(.replyForAnother), .service(.approvalNotVerified), .service(.foreignAddress), .signsLess:
      EX_PROTOCOL
    case .service, .unknownAtService: EX_UNAVAILABLE
    }
  }

  private static func exitCode(of error: FileError?) -> Int32 {
    if case .system = error?.code { EX_IOERR } else { EX_CONFIG }
  }
}
