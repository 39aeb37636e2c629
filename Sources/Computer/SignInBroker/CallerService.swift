import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import LoginModule

/// Serves one caller in its own process: reads the request, decides, and runs the sign-in.
struct CallerService {
  let channel: BrokerChannel
  /// The caller's uid, from the kernel.
  let callerUID: UInt32
  /// The caller's process, from the kernel.
  let callerPID: Int32
  let configurationPath: String
  let sessionsFolder: String
  let log: @Sendable (Int32, String) -> Void

  func serve() {
    Secret.staysOutOfDumps = true
    let deadline = MonotonicInstant.now().advanced(milliseconds: BrokerMessage.patience)
    guard let message = try? channel.receive(by: deadline, interruption: nil), case .request(let request) = message
    else { return }
    do throws(Misconfiguration) { try serve(request) } catch {
      note(LOG_ERR, "refused", nil, request, "reason=\(error.explanation)")
      end(.misconfigured, error == .noServer ? "" : "IAMPASS is not configured; ask your administrator")
    }
  }

  private func serve(_ request: BrokerRequest) throws(Misconfiguration) {
    let setup = try HostSetup(path: configurationPath)
    let known: SystemUser?
    do { known = try SystemUser.find(spelled: Array(request.user.utf8)) } catch {
      // The user is neither asked for nor reported as unknown: the answer is PAM_AUTHINFO_UNAVAIL.
      note(LOG_ERR, "refused", nil, request, "reason=\(error.explanation)")
      return end(.aside, "")
    }
    let user: SystemUser
    do throws(CallerRefusal) {
      user = try CallerRule(callerUID: callerUID).check(
        known, service: request.service, listed: setup.configuration.services,
        sessions: { LogindSession.all(in: sessionsFolder) }, unlocks: unlocks(request, setup))
    } catch {
      note(error == .notListed ? LOG_DEBUG : LOG_NOTICE, "refused", known, request, "reason=\(error.explanation)")
      return end(.aside, "")
    }
    // The caller waits for an answer, so its number is not reused.
    let login = BrokeredLogin(
      setup: setup, request: request, user: user, callerUID: callerUID, caller: ProcessIdentity(pid: callerPID))
    let conversation = CallerConversation(channel: channel)
    let (outcome, session) = try login.outcome(
      conversation: conversation, clock: CallerClock(channel: channel), interruption: channel)
    switch outcome {
    case .approved(let signIn):
      let phone = signIn.session.phone.map { " phone=\($0)" } ?? ""
      note(LOG_NOTICE, "approved", user, request, "session=\(session ?? "none")\(phone)")
      settleLocks(setup)
      end(.approved, session ?? "")
      login.end(signIn)
    // The broker does not accept codes.
    case .offline: end(.aside, "")
    case .refused(let refusal):
      // The question was sent: the caller connects again if its user agrees.
      if conversation.hasAsked { return }
      let name = session.map { "session=\($0) " } ?? ""
      note(
        refusal == .noToken ? LOG_DEBUG : LOG_NOTICE, "refused", user, request,
        "\(name)reason=\(refusal.explanation)")
      end(BrokerEnding(refusal), refusal.message(passwordFollows: request.passwordFollows) ?? "")
    }
  }

  /// Nil if `unlock` is off.
  private func unlocks(_ request: BrokerRequest, _ setup: HostSetup) -> (([LogindSession]) -> Bool)? {
    guard setup.configuration.unlock != .off else { return nil }
    return { sessions in
      let session = UnlockRule(setup.configuration.unlock).session(
        opensFor: request.service, of: callerUID, by: caller, in: sessions, away: setup.awayLocks.all)
      return session != nil
    }
  }

  /// Removes the lock notes of the session, because the phone has approved. It is locked and unlocked as before from
  /// now on.
  private func settleLocks(_ setup: HostSetup) {
    guard callerUID != 0 else { return }
    let own = LogindSession.all(in: sessionsFolder).filter { $0.isInFront(of: callerUID) && caller.belongs(to: $0) }
    for error in setup.awayLocks.forget(own) {
      log(LOG_WARNING, "note of a lock not removed: caller=\(callerUID) \(error.explanation)")
    }
  }

  private var caller: UnlockRule.Caller { .user(ProcessUnits(of: callerPID)) }

  /// Sends the answer. It may fail if the caller has left.
  private func end(_ ending: BrokerEnding, _ text: String) { try? channel.send(.ended(ending, text)) }

  /// - Parameter user: nil for an unknown name: it may be a password that a user typed.
  private func note(
    _ priority: Int32, _ outcome: String, _ user: SystemUser?, _ request: BrokerRequest, _ detail: String
  ) {
    let whose = LogField.signIn(user: user?.name.text, service: request.service, remoteHost: nil)
    let asker = request.askerUID(of: callerUID)
    let setuid = asker == callerUID ? "" : " asker=\(asker)"
    log(priority, "\(outcome) \(whose) caller=\(callerUID)\(setuid) \(detail)")
  }
}

/// The conversation with the caller's user. A question ends the attempt, so that no process waits while a user types.
private final class CallerConversation: Conversation {
  private let channel: BrokerChannel
  private(set) var hasAsked = false

  init(channel: BrokerChannel) { self.channel = channel }

  func say(_ text: String) throws(ConversationError) {
    do { try channel.send(.say(text)) } catch { throw .gone }
  }

  /// Never called: the broker does not do sign-ins without the service.
  func show(link: String) throws(ConversationError) { throw .gone }

  func ask(_ prompt: String) throws(ConversationError) -> Secret? {
    hasAsked = true
    try? channel.send(.ask(prompt))
    throw .gone
  }

  /// Never called: what the user types stays in the caller.
  func keepPassword(_ password: Secret) throws(ConversationError) { throw .gone }
}

/// The monotonic clock. Its pauses end if the caller leaves.
private struct CallerClock: LoginClock {
  let channel: BrokerChannel

  func now() -> MonotonicInstant { .now() }

  func pause(milliseconds: Int64) -> Bool {
    var entry = pollfd(fd: channel.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&entry, 1, Int32(clamping: max(0, milliseconds)))
    return channel.isPending()
  }
}
