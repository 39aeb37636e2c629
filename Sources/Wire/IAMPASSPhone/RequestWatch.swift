import DeviceProtocol
import IAMPASSProtocol
import WorkerLink

/// Shows requests to the phone's user, and takes their decisions.
public protocol PhoneUser: AnyObject {
  /// Shows the request's whole context, and asks the user. If nil, no answer is sent.
  ///
  /// A request ends after ``OpenRequest/secondsLeft``. If asking takes longer than 40 s, call
  /// ``RegisteredPhone/status()`` in between: a phone that is silent for 150 s may count as gone.
  func decision(on request: OpenRequest) throws -> PhoneDecision?

  /// Shows the whole `review`, and asks the user whether to sign the document as an administrator. If nil, no answer is
  /// sent.
  ///
  /// For a misfit, show its explanation and let the user deny. An approval is then not sent.
  func decision(on request: OpenRequest, _ review: DocumentReview) throws -> PhoneDecision?

  func hear(_ event: WatchEvent)

  /// Waits. Throw to end the watch.
  func pause(milliseconds: Int64) throws
}

extension PhoneUser {
  /// Unable: apps written before this method existed cannot sign documents.
  public func decision(on request: OpenRequest, _ review: DocumentReview) throws -> PhoneDecision? { .unable }
}

/// What a ``RequestWatch`` reports besides requests.
public enum WatchEvent {
  /// An answer arrived.
  case answered(PhoneDecision, AnswerOutcome)
  /// The service cannot be reached, and is asked again. Reported once until ``connectedAgain``.
  case unavailable(PhoneError)
  case connectedAgain
  /// A computer asked for these methods, and this phone lacks them. The sign-in was not started. If the user agrees,
  /// add `device` by ``RegisteredPhone/update(credentialBy:replacing:)``, or `facial` by
  /// ``RegisteredPhone/update(vouchesForFace:)``. Reported once for each method, and again after a restart, until the
  /// phone has it.
  case trainingRequired([AuthenticationMethod])
  /// Codes of the user were used on computers that could not ask the phone. Each is reported once, and again after a
  /// restart, as long as the service lists it. Ask the user whether they used it.
  case codesUsed([CodeUseReport])
  /// Another phone of the user has answered a request. Reported once for each request that this watch has shown.
  case answeredElsewhere(AnsweredElsewhere)
}

/// Waits for requests, asks the user, and sends the answers. Continues while the service is unavailable.
public final class RequestWatch {
  /// The result of one request.
  public enum Settlement: Sendable { case over, hasAnotherCode, stillOpen }

  /// The pauses between attempts while the service is unavailable, in milliseconds.
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
  ///   - documents: the storage of an administrator's phone for its document memory; nil: the phone signs no documents.
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
  /// - Parameter once: whether to return after the first request.
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
      // The request was sent twice because its first connection broke. The next request has a new nonce.
      if case .refused(_, "NONCE_REPLAYED") = error {
        try pause(.transport(TransportError(.connectionLost)))
      } else {
        guard error.isPassing else { throw error }
        try pause(error)
      }
      return nil
    }
  }

  /// Asks the user for a decision, and sends it.
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
    // This comes only now. A request that the user has not read must not change what the phone remembers.
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
