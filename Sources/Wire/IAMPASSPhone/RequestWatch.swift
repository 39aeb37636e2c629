import DeviceProtocol
import IAMPASSProtocol
import WorkerLink

/// Shows requests to the phone's user, and takes their decisions.
public protocol PhoneUser: AnyObject {
  /// Shows everything in the request's context, and asks the user. Nil: no answer is sent.
  ///
  /// A request ends after ``OpenRequest/secondsLeft``. If asking takes longer than 40 s, call
  /// ``RegisteredPhone/status()`` in between: a phone that is silent for 150 s may count as gone.
  func decision(on request: OpenRequest) throws -> PhoneDecision?

  /// Shows all that `review` says, and asks the user whether to sign it as an administrator. Nil: no answer is sent.
  ///
  /// If it is a misfit, show its explanation, and let the user deny: an approval is not sent.
  func decision(on request: OpenRequest, _ review: DocumentReview) throws -> PhoneDecision?

  func hear(_ event: WatchEvent)

  /// Waits. Throw to end the watch.
  func pause(milliseconds: Int64) throws
}

extension PhoneUser {
  /// Apps of before know no documents: they cannot sign one.
  public func decision(on request: OpenRequest, _ review: DocumentReview) throws -> PhoneDecision? { .unable }
}

/// What a ``RequestWatch`` tells besides requests.
public enum WatchEvent {
  /// An answer arrived.
  case answered(PhoneDecision, AnswerOutcome)
  /// The service cannot be reached, and is asked again. Told once until ``connectedAgain``.
  case unavailable(PhoneError)
  case connectedAgain
  /// A computer asked for these methods, and this phone lacks them. The sign-in was not started. To add the method
  /// `device`, have the user agree, and call ``RegisteredPhone/update(credentialBy:replacing:)``; to add `facial`,
  /// ``RegisteredPhone/update(vouchesForFace:)``. Told once for each
  /// method, and again after a restart, until the phone has it.
  case trainingRequired([AuthenticationMethod])
  /// Codes of the user have served on computers that could not ask the phone. Each is told once, and again after
  /// a restart, as long as the service shows it. Ask the user whether it was them.
  case codesUsed([CodeUseReport])
  /// Another phone of the user has answered a request. Told once for each request that this watch has shown.
  case answeredElsewhere(AnsweredElsewhere)
}

/// Waits for requests, has the user decide, and answers. Goes on while the service is unavailable.
public final class RequestWatch {
  /// What became of one request.
  public enum Settlement: Sendable { case over, hasAnotherCode, stillOpen }

  /// Milliseconds between attempts while the service is unavailable.
  private static let pauses: [Int64] = [500, 1_000, 2_000, 5_000, 10_000, 30_000]

  public let phone: RegisteredPhone
  private let user: any PhoneUser
  private let authenticator: (any PhoneAuthenticator)?
  private let face: (any PhoneFace)?
  private let documents: (any DocumentStorage)?
  private var known: [String] = []
  private var failures = 0
  private var toldTraining: [AuthenticationMethod] = []
  private var toldUses: Set<String> = []
  private var toldAnswered: Set<String> = []

  /// - Parameters:
  ///   - authenticator: for approvals by the method `device`.
  ///   - face: for approvals by the method `facial`: see ``RegisteredPhone/update(vouchesForFace:)``.
  ///   - documents: what an administrator's phone remembers of the documents that it was shown; nil: it signs none.
  public init(
    phone: RegisteredPhone, user: any PhoneUser, authenticator: (any PhoneAuthenticator)? = nil,
    face: (any PhoneFace)? = nil, documents: (any DocumentStorage)? = nil
  ) {
    self.phone = phone
    self.user = user
    self.authenticator = authenticator
    self.face = face
    self.documents = documents
  }

  /// Answers requests until something is thrown: a ``PhoneError`` that does not pass, or what `user` throws.
  ///
  /// - Parameter once: returns after the first request.
  public func run(once: Bool = false) throws {
    while true {
      guard let requests = try next() else { continue }
      known = known.filter { session in requests.contains { $0.session == session } }
      for request in requests where !known.contains(request.session) {
        // An answer that was not delivered leaves the request open. The next list contains it again.
        guard try settle(request) != .stillOpen else { break }
        if once { return }
        known.append(request.session)
      }
    }
  }

  /// The open requests, once they differ from those already shown; nil while the service is unavailable.
  public func next() throws -> [OpenRequest]? {
    do throws(PhoneError) {
      let listing = try phone.listing(known: known, wait: RegisteredPhone.holdTime)
      if failures > 0 { user.hear(.connectedAgain) }
      failures = 0
      let further = listing.training.filter { !toldTraining.contains($0) }
      toldTraining = listing.training
      if !further.isEmpty { user.hear(.trainingRequired(further)) }
      let uses = listing.codesUsed.filter { !toldUses.contains($0.id) }
      toldUses = Set(listing.codesUsed.map(\.id))
      if !uses.isEmpty { user.hear(.codesUsed(uses)) }
      for answer in listing.answered where known.contains(answer.session) {
        if toldAnswered.insert(answer.session).inserted { user.hear(.answeredElsewhere(answer)) }
      }
      toldAnswered.formIntersection(listing.answered.map(\.session))
      return listing.requests
    } catch {
      // The request was sent twice, since its first connection broke. The next request has another nonce.
      if case .refused(_, "NONCE_REPLAYED") = error {
        try pause(.transport(TransportError(.connectionLost)))
      } else {
        guard error.isPassing else { throw error }
        try pause(error)
      }
      return nil
    }
  }

  /// Has the user decide, and answers.
  public func settle(_ request: OpenRequest) throws -> Settlement {
    do {
      guard let (decision, document) = try decided(request) else { return .over }
      let outcome = try phone.answer(
        request, with: decision, authenticator: authenticator, face: face, showing: document)
      user.hear(.answered(decision, outcome))
      return outcome == .hasAnotherCode ? .hasAnotherCode : .over
    } catch let error as PhoneError {
      guard error.isPassing else { throw error }
      try pause(error)
      return .stillOpen
    }
  }

  /// What the user decided, and the document that they were shown.
  private func decided(_ request: OpenRequest) throws -> (PhoneDecision, ReviewedDocument?)? {
    guard request.isForDocument else { return try user.decision(on: request).map { ($0, nil) } }
    guard let documents else { return (.unable, nil) }
    let memory = try documents.documentMemory()
    let review: DocumentReview
    do throws(PhoneError) {
      review = try phone.review(request, remembering: memory)
    } catch {
      guard case .refused(_, let reason) = error, ["UNKNOWN_REQUEST", "TOO_LATE"].contains(reason) else { throw error }
      user.hear(.answered(.unable, .tooLate))
      return nil
    }
    guard case .fits(let document) = review else { return try user.decision(on: request, review).map { ($0, nil) } }
    guard let decision = try user.decision(on: request, review) else { return nil }
    // Only now: a request that nobody has read must not make administrators or users known.
    if decision.answer == .approve { try documents.keep(document.memoryOnceSigned) }
    return (decision, document)
  }

  private func pause(_ error: PhoneError) throws {
    if failures == 0 { user.hear(.unavailable(error)) }
    let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
    failures += 1
    try user.pause(milliseconds: pause)
  }
}
