import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Takes typed recovery codes, for one user and one sign-in.
public protocol RecoveryCodeVerifier {
  /// Uses a code up, if it is one of the user's.
  ///
  /// - Parameter isEnrolled: whether the user may sign in by phone here. A code of another user is not accepted, in the
  ///   same time.
  func take(_ code: RecoveryCode, isEnrolled: Bool) throws(RecoveryError) -> CodeVerdict
}

/// Asks the user's phone without the service, for one sign-in.
public protocol OfflineApprovalVerifier {
  /// Makes a question; nil if no phone could answer it.
  ///
  /// - Parameter isEnrolled: whether the user may sign in by phone here.
  func question(isEnrolled: Bool) throws(OfflineError) -> PosedQuestion?
  /// Checks digits. Only an enrolled user's digits are accepted. Others are refused in the same time.
  func take(
    _ digits: OfflineDigits, for question: OfflineQuestion, isEnrolled: Bool
  ) throws(OfflineError) -> DigitsVerdict
}

/// A question, and the link that brings it to the phone.
public struct PosedQuestion: Sendable {
  public let question: OfflineQuestion
  public let link: String

  public init(question: OfflineQuestion, link: String) {
    self.question = question
    self.link = link
  }
}

/// The ways to sign in without the service, if the PAM service allows any.
public struct OfflineWays {
  /// The recovery codes; nil if they are not allowed.
  let codes: (any RecoveryCodeVerifier)?
  /// The phones; nil if they are not allowed.
  let phone: (any OfflineApprovalVerifier)?
  /// Counts tries of all ways, and requests to the phone.
  let limit: any RequestLimit
  /// Counts tries of digits from all remote hosts together; nil for a sign-in at this computer.
  let remoteDigits: (any RequestLimit)?

  public init(
    codes: (any RecoveryCodeVerifier)?, phone: (any OfflineApprovalVerifier)? = nil, limit: any RequestLimit,
    remoteDigits: (any RequestLimit)? = nil
  ) {
    self.codes = codes
    self.phone = phone
    self.limit = limit
    self.remoteDigits = remoteDigits
  }
}

/// How an offer to type a code or digits ended without a sign-in.
public enum OfferEnding: Sendable, Equatable {
  /// A password was typed, for the next module.
  case passwordTyped
  /// All tries of one sign-in were wrong. Has the fault of the user's codes, if there is one.
  case wrongCodes(OfferFault?)
  /// The source has tried too often. The next try is possible after this many seconds.
  case tooManyTries(secondsLeft: Int64)
  case broken(RecoveryError)
  /// Phones cannot be asked without the service, and there is no other way.
  case phoneBroken(OfflineError)
  /// Nothing was typed, or could be, for a user without a token. `fail=open` does not apply to such a user.
  case nothingTyped
  /// A code was not asked for, because it is not known whether the phone has denied.
  case withheld
}

/// A fault of the user's codes or phones. If strangers may ask, only the log has it.
public enum OfferFault: Error, Sendable, Equatable {
  case codes(RecoveryError)
  case phone(OfflineError)
}

extension Refusal {
  /// Why a recovery code may be typed instead, for the prompt; nil if none is offered after this ending.
  ///
  /// No code is offered after a denial, or after too many requests, which include denials. An unanswered request was
  /// already withdrawn, so that it cannot be denied any more.
  var offersCode: String? {
    switch self {
    case .unavailable(.approvalNotVerified): nil
    case .unavailable(.transport): "Server not reachable"
    case .unavailable: "Server not available"
    case .noPhone: "No phone registered"
    case .phoneNotTrusted: "No trusted phone"
    case .notAnswered: "Not answered"
    case .notDecided, .denied, .wrongDigits, .endedWhileWaiting, .passwordTyped, .answeredByNobody, .asksNothing,
      .textAtSecondFactor, .noToken, .lookupFailed, .notInSystem, .cannotVerify, .phoneForgotten, .notVerifiable,
      .notStarted, .commandNotRead,
      .commandTooLong, .limiterBroken, .tooManyRequests, .serviceNotListed, .callerNotRoot, .brokerLost, .byBroker,
      .notRecordable, .recordNotKept, .misconfigured,
      .interrupted, .terminalGone, .promptNotAnswered, .abandoned, .userChanged, .offered:
      nil
    }
  }

  /// Whether the phone can be asked without the service: only if the service cannot be reached. Otherwise the phone was
  /// asked, or it is not trusted.
  var leavesPhone: Bool {
    guard case .unavailable(let error) = self else { return false }
    if case .transport = error { return true }
    if case .serverFailed = error { return true }
    return false
  }

  /// The line for a code that is not accepted, for any reason.
  static let codeNotTaken = "IAMPASS: that is not one of your unused recovery codes"
  /// The line for digits that are not accepted.
  static let digitsNotTaken = "IAMPASS: your phone does not show these digits for this sign-in"
  static let digitsTooLate = "IAMPASS: the two minutes for these digits are over; open the new link"
  static let openOnPhone = "No network: open this on your phone"
}

extension LoginAttempt {
  /// Asks for a recovery code, or the digits of a phone, because the service could not ask the phone.
  ///
  /// - Throws: `refusal` itself for a user with a token, if nothing is offered or typed.
  func withoutTheService(_ ways: OfflineWays, after refusal: Refusal, _ reason: String) throws(Refusal) -> OfflineSignIn
  {
    // A user whose token cannot be looked up does not count as enrolled.
    let isEnrolled = ((try? tokens.token(of: request.user)) ?? nil) != nil
    var offer = OfflineOffer(ways: ways, refusal: refusal, isEnrolled: isEnrolled)
    // `fail=open` applies only to users whose phone would be asked.
    let withoutAnswer = isEnrolled ? refusal : .offered(.nothingTyped, after: refusal)
    if refusal.leavesPhone { try pose(&offer) }
    guard ways.codes != nil || offer.posed != nil else { throw withoutAnswer }
    let prompt = policy.promptWithoutService(request, reason, codes: ways.codes != nil, digits: offer.posed != nil)
    var previous: Secret?
    for _ in 0..<CodeTries.inOneSignIn {
      // There is no user, or the user does not want to: the sign-in ends as without this offer.
      guard let typed = (try? conversation.ask(prompt)) ?? nil, !typed.isEmpty else { throw withoutAnswer }
      // Text that is typed twice counts as a password, which may look like a code.
      guard let answer = offer.answer(typed), typed != previous else {
        throw try handOn(typed, .offered(.passwordTyped, after: refusal))
      }
      previous = typed
      try countTry(ways.limit, after: refusal)
      if case .digits = answer, let remote = ways.remoteDigits { try countTry(remote, after: refusal) }
      if let proof = try proof(of: answer, &offer) {
        forgive(ways, proof, after: refusal)
        return OfflineSignIn(proof: proof, record: try record(proof))
      }
    }
    throw .offered(.wrongCodes(offer.fault), after: refusal)
  }

  /// Shows the phone's link. If that fails, the other ways are left.
  private func pose(_ offer: inout OfflineOffer) throws(Refusal) {
    offer.posed = nil
    guard let verifier = offer.ways.phone else { return }
    let posed: PosedQuestion?
    do { posed = try verifier.question(isEnrolled: offer.isEnrolled) } catch {
      offer.fault = .phone(error)
      // sshd's user sees the same text for every fault.
      if offer.ways.codes == nil, !request.isSSH { throw .offered(.phoneBroken(error), after: offer.refusal) }
      return
    }
    guard let posed else { return }
    offer.posed = posed.question
    do {
      try conversation.say(Refusal.openOnPhone)
      try conversation.show(link: posed.link)
    } catch { throw .terminalGone }
  }

  /// The proof; nil if the answer is wrong, which was shown to the user.
  private func proof(of answer: OfflineOffer.Answer, _ offer: inout OfflineOffer) throws(Refusal) -> OfflineProof? {
    var words: String
    switch answer {
    case .code(let code, let verifier):
      words = Refusal.codeNotTaken
      do throws(RecoveryError) {
        if case .accepted(let accepted) = try verifier.take(code, isEnrolled: offer.isEnrolled) {
          return .code(accepted)
        }
      } catch {
        // In sshd, strangers must not learn who has codes.
        guard request.isSSH else { throw .offered(.broken(error), after: offer.refusal) }
        offer.fault = .codes(error)
      }
    case .digits(let digits, let question, let verifier):
      words = Refusal.digitsNotTaken
      do throws(OfflineError) {
        switch try verifier.take(digits, for: question, isEnrolled: offer.isEnrolled) {
        case .approved(let approval): return .phone(approval)
        case .wrong: break
        case .tooLate: words = Refusal.digitsTooLate
        }
      } catch {
        guard request.isSSH else { throw .offered(.phoneBroken(error), after: offer.refusal) }
        offer.fault = .phone(error)
      }
    }
    do { try conversation.say(words) } catch { throw .terminalGone }
    if words == Refusal.digitsTooLate { try pose(&offer) }
    return nil
  }

  /// Counts a try. Text that is typed over the limit may be a valid code, so the next module does not get it.
  private func countTry(_ limit: any RequestLimit, after refusal: Refusal) throws(Refusal) {
    do { try limit.admit() } catch {
      switch error {
      case .tooMany(let seconds): throw .offered(.tooManyTries(secondsLeft: seconds), after: refusal)
      case .broken(let file): throw .limiterBroken(file)
      }
    }
  }

  /// Forgives the try, because it was valid. The phone's digits also prove that an earlier request, which may have
  /// arrived, was its user's. A recovery code does not prove that.
  private func forgive(_ ways: OfflineWays, _ proof: OfflineProof, after refusal: Refusal) {
    try? ways.limit.forgive()
    guard case .phone = proof else { return }
    try? ways.remoteDigits?.forgive()
    if refusal.leavesPhone, refusal.mayHaveRung { try? ways.limit.forgive() }
  }

  /// Passes the typed text to the next module. `ending` is the attempt's ending.
  private func handOn(_ typed: Secret, _ ending: Refusal) throws(Refusal) -> Refusal {
    // If a first factor's password is already there, any text would pass as the second factor.
    guard !request.hasPassword else { return .textAtSecondFactor }
    do { try conversation.keepPassword(typed) } catch { throw .terminalGone }
    return ending
  }

  /// Records the session. Throws if a session that must end by itself cannot be recorded. The code is used up in any
  /// case.
  private func record(_ proof: OfflineProof) throws(Refusal) -> SessionRecord? {
    guard policy.mustWatch else { return nil }
    do { return try recorder.record(proof) } catch { throw .recordNotKept(error) }
  }
}

/// The offer of one sign-in, and its progress.
private struct OfflineOffer {
  enum Answer {
    case code(RecoveryCode, any RecoveryCodeVerifier)
    case digits(OfflineDigits, OfflineQuestion, any OfflineApprovalVerifier)
  }

  let ways: OfflineWays
  let refusal: Refusal
  let isEnrolled: Bool
  /// The phone's question; nil if the phone is not asked.
  var posed: OfflineQuestion?
  var fault: OfferFault?

  /// Nil if the text does not have the form of an offered way.
  func answer(_ typed: Secret) -> Answer? {
    if let verifier = ways.codes, let code = RecoveryCode(typed: typed) { return .code(code, verifier) }
    if let verifier = ways.phone, let posed, let digits = OfflineDigits(typed: typed) {
      return .digits(digits, posed, verifier)
    }
    return nil
  }
}

extension LoginPolicy {
  /// - Parameter reason: why the service could not ask the phone.
  func promptWithoutService(_ request: LoginRequest, _ reason: String, codes: Bool, digits: Bool) -> String {
    // gnome-shell cuts a longer question.
    if DesktopServices.isGDM(request.service) { return "Code, or password: " }
    let ways = (digits ? ["Digits on your phone"] : []) + (codes ? [digits ? "recovery code" : "Recovery code"] : [])
    let last = request.hasPassword ? ["Enter"] : passwordFollows ? ["password"] : []
    let words = ways + last
    let text = words.count == 1 ? words[0] : words.dropLast().joined(separator: ", ") + ", or " + words[words.count - 1]
    return "\(reason). \(text): "
  }
}
