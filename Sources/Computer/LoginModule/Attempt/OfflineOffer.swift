import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Takes typed recovery codes, for one user and one sign-in.
public protocol CodeDesk {
  /// Uses a code up, if it is one of the user's.
  ///
  /// - Parameter isEnrolled: whether the user may sign in by phone here. Nobody else's code is taken, and it takes as
  ///   long to say so.
  func take(_ code: RecoveryCode, isEnrolled: Bool) throws(RecoveryError) -> CodeVerdict
}

/// Asks the user's phone without the service, for one sign-in.
public protocol PhoneDesk {
  /// A new question; nil if no phone could answer it.
  ///
  /// - Parameter isEnrolled: whether the user may sign in by phone here.
  func question(isEnrolled: Bool) throws(OfflineError) -> PosedQuestion?
  /// Nobody else's digits are taken than an enrolled user's, and it takes as long to say so.
  func take(
    _ digits: OfflineDigits, for question: OfflineQuestion, isEnrolled: Bool
  ) throws(OfflineError) -> DigitsVerdict
}

/// A question, and the link by which the phone gets it.
public struct PosedQuestion: Sendable {
  public let question: OfflineQuestion
  public let link: String

  public init(question: OfflineQuestion, link: String) {
    self.question = question
    self.link = link
  }
}

/// What a sign-in without the service needs: it is there if the PAM service takes a way without it.
public struct OfflineWays {
  /// Nil: no recovery codes.
  let codes: (any CodeDesk)?
  /// Nil: no phone.
  let phone: (any PhoneDesk)?
  /// Counts tries of all ways together with requests to the phone.
  let limit: any RequestLimit
  /// Counts tries of digits from all remote hosts together; nil for a sign-in at this computer.
  let remoteDigits: (any RequestLimit)?

  public init(
    codes: (any CodeDesk)?, phone: (any PhoneDesk)? = nil, limit: any RequestLimit,
    remoteDigits: (any RequestLimit)? = nil
  ) {
    self.codes = codes
    self.phone = phone
    self.limit = limit
    self.remoteDigits = remoteDigits
  }
}

/// How an offer to type a code or digits ended, if nobody was signed in.
public enum OfferEnding: Sendable, Equatable {
  /// A password was typed, for the next module.
  case passwordTyped
  /// All tries of one sign-in. What was wrong with the user's codes, if anything was.
  case wrongCodes(OfferFault?)
  /// The source has tried too often. The next try is possible after this many seconds.
  case tooManyTries(secondsLeft: Int64)
  case broken(RecoveryError)
  /// No phone can be asked without the service, and there is no other way.
  case phoneBroken(OfflineError)
  /// Nothing was typed, or nothing could be, for a user without a token, whom no outage lets through.
  case nothingTyped
  /// No code was asked for: whether the phone has denied cannot be known.
  case withheld
}

/// What was wrong with a way of the user's: only the log says so, where strangers ask.
public enum OfferFault: Error, Sendable, Equatable {
  case codes(RecoveryError)
  case phone(OfflineError)
}

extension Refusal {
  /// Why a recovery code may be typed instead, for the prompt; nil if nothing is offered after this ending.
  ///
  /// A denial offers nothing, and neither do too many requests: denials are among them. A request that was not answered
  /// was taken back before, so that it cannot be denied any more.
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

  /// Whether the phone can be asked without the service: only if the service cannot be reached. Otherwise the phone has
  /// been asked, or nobody trusts it.
  var leavesPhone: Bool {
    guard case .unavailable(let error) = self else { return false }
    if case .transport = error { return true }
    if case .serverFailed = error { return true }
    return false
  }

  /// Said for a code that does not serve, whatever is wrong with it.
  static let codeNotTaken = "IAMPASS: that is not one of your unused recovery codes"
  /// Said for digits that do not serve.
  static let digitsNotTaken = "IAMPASS: your phone does not show these digits for this sign-in"
  static let digitsTooLate = "IAMPASS: the two minutes for these digits are over; open the new link"
  static let openOnPhone = "No network: open this on your phone"
}

extension LoginAttempt {
  /// Asks for a recovery code, or the digits of a phone, because the service could not ask the phone.
  ///
  /// - Throws: `refusal` itself for a user with a token if nothing is offered, or nothing was typed.
  func withoutTheService(_ ways: OfflineWays, after refusal: Refusal, _ reason: String) throws(Refusal) -> OfflineSignIn
  {
    // A user whose token cannot be looked up is not.
    let isEnrolled = ((try? tokens.token(of: request.user)) ?? nil) != nil
    var offer = OfflineOffer(ways: ways, refusal: refusal, isEnrolled: isEnrolled)
    // `fail=open` lets an outage pass for users whose phone would be asked, and for nobody else.
    let withoutAnswer = isEnrolled ? refusal : .offered(.nothingTyped, after: refusal)
    if refusal.leavesPhone { try pose(&offer) }
    guard ways.codes != nil || offer.posed != nil else { throw withoutAnswer }
    let prompt = policy.promptWithoutService(request, reason, codes: ways.codes != nil, digits: offer.posed != nil)
    var previous: Secret?
    for _ in 0..<CodeTries.inOneSignIn {
      // Nobody is there, or nobody wants to: it ends as it would without this offer.
      guard let typed = (try? conversation.ask(prompt)) ?? nil, !typed.isEmpty else { throw withoutAnswer }
      // Typed again, it is meant as it is: a password may look like a code.
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

  /// Shows what the phone opens. Without it the other ways are left.
  private func pose(_ offer: inout OfflineOffer) throws(Refusal) {
    offer.posed = nil
    guard let desk = offer.ways.phone else { return }
    let posed: PosedQuestion?
    do { posed = try desk.question(isEnrolled: offer.isEnrolled) } catch {
      offer.fault = .phone(error)
      // sshd's user is told the same whatever is wrong.
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

  /// Nil for what does not sign in; the user has then been told.
  private func proof(of answer: OfflineOffer.Answer, _ offer: inout OfflineOffer) throws(Refusal) -> OfflineProof? {
    var words: String
    switch answer {
    case .code(let code, let desk):
      words = Refusal.codeNotTaken
      do throws(RecoveryError) {
        if case .spent(let spent) = try desk.take(code, isEnrolled: offer.isEnrolled) { return .code(spent) }
      } catch {
        // Strangers must not learn who has codes.
        guard request.isSSH else { throw .offered(.broken(error), after: offer.refusal) }
        offer.fault = .codes(error)
      }
    case .digits(let digits, let question, let desk):
      words = Refusal.digitsNotTaken
      do throws(OfflineError) {
        switch try desk.take(digits, for: question, isEnrolled: offer.isEnrolled) {
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

  /// What is typed over the limit can be a right code: the next module does not get it.
  private func countTry(_ limit: any RequestLimit, after refusal: Refusal) throws(Refusal) {
    do { try limit.admit() } catch {
      switch error {
      case .tooMany(let seconds): throw .offered(.tooManyTries(secondsLeft: seconds), after: refusal)
      case .broken(let file): throw .limiterBroken(file)
      }
    }
  }

  /// The try was good. The user's phone has proven, too, that a request before it, of which nobody knows whether
  /// it arrived, was its user's. A recovery code proves nothing of the phone.
  private func forgive(_ ways: OfflineWays, _ proof: OfflineProof, after refusal: Refusal) {
    try? ways.limit.forgive()
    guard case .phone = proof else { return }
    try? ways.remoteDigits?.forgive()
    if refusal.leavesPhone, refusal.mayHaveRung { try? ways.limit.forgive() }
  }

  /// Hands what was typed to the next module; `ending` is how the attempt then ends.
  private func handOn(_ typed: Secret, _ ending: Refusal) throws(Refusal) -> Refusal {
    // With a first factor's password at hand, taking text would let anything through as the second.
    guard !request.hasPassword else { return .textAtSecondFactor }
    do { try conversation.keepPassword(typed) } catch { throw .terminalGone }
    return ending
  }

  /// A session that must end by itself and cannot be recorded is not opened. The code is used up all the same.
  private func record(_ proof: OfflineProof) throws(Refusal) -> SessionRecord? {
    guard policy.mustWatch else { return nil }
    do { return try recorder.record(proof) } catch { throw .recordNotKept(error) }
  }
}

/// What one sign-in is offered, and how far it came.
private struct OfflineOffer {
  enum Answer {
    case code(RecoveryCode, any CodeDesk)
    case digits(OfflineDigits, OfflineQuestion, any PhoneDesk)
  }

  let ways: OfflineWays
  let refusal: Refusal
  let isEnrolled: Bool
  /// Nil: the phone is not asked.
  var posed: OfflineQuestion?
  var fault: OfferFault?

  /// Nil for what has the form of no way that is offered.
  func answer(_ typed: Secret) -> Answer? {
    if let desk = ways.codes, let code = RecoveryCode(typed: typed) { return .code(code, desk) }
    if let desk = ways.phone, let posed, let digits = OfflineDigits(typed: typed) {
      return .digits(digits, posed, desk)
    }
    return nil
  }
}

extension LoginPolicy {
  /// - Parameter reason: why the phone is not asked.
  func promptWithoutService(_ request: LoginRequest, _ reason: String, codes: Bool, digits: Bool) -> String {
    // gnome-shell cuts a longer question off.
    if DesktopServices.isGDM(request.service) { return "Code, or password: " }
    let ways = (digits ? ["Digits on your phone"] : []) + (codes ? [digits ? "recovery code" : "Recovery code"] : [])
    let last = request.hasPassword ? ["Enter"] : passwordFollows ? ["password"] : []
    let words = ways + last
    let text = words.count == 1 ? words[0] : words.dropLast().joined(separator: ", ") + ", or " + words[words.count - 1]
    return "\(reason). \(text): "
  }
}
