import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import WorkerLink

/// A sign-in that the broker runs for a program that cannot: the program may not read the secrets or reach the network.
struct BrokerCall {
  enum Outcome: Sendable, Equatable {
    /// The phone has approved. This opens no session and leaves no record, because only this program uses it. Has the
    /// service's name for the session, for the log.
    case approved(session: String?)
    case refused(Refusal)
  }

  /// The longest time for an answer without a ringing phone, in milliseconds. systemd may have to start the broker
  /// first.
  private static let quickMilliseconds: Int64 = 5_000
  /// How long the broker may take besides the user's time, in milliseconds: for its own start and the request's.
  private static let slackMilliseconds: Int64 = 20_000

  /// Whether this program asks the broker: all programs that are not root, and polkit's helper. From version 127 on
  /// that runs in a sandbox without network.
  static func serves(_ service: String) -> Bool { geteuid() != 0 || service == DesktopServices.polkit }

  /// The broker's socket.
  let path: String
  let conversation: any Conversation
  let clock: any LoginClock
  let interruption: any Interruption

  func outcome(of request: BrokerRequest) -> Outcome {
    do throws(Refusal) {
      switch try reply(to: request) {
      case .approved(let session): return .approved(session: session)
      case .question(let prompt): try agree(prompt, request)
      }
      var agreed = request
      agreed.isAgreed = true
      // A second question cannot come from the same broker.
      guard case .approved(let session) = try reply(to: agreed) else { return .refused(.brokerLost) }
      return .approved(session: session)
    } catch { return .refused(error) }
  }

  /// How often a busy broker is asked again: its process for the question may still be ending.
  private static let busyTries = 20
  private static let busyPause: Int64 = 50

  private enum Reply {
    case question(String)
    case approved(session: String?)
  }

  private func reply(to request: BrokerRequest) throws(Refusal) -> Reply {
    for _ in 0..<Self.busyTries {
      do throws(Refusal) { return try firstReply(to: request) } catch {
        guard error == .byBroker(.busy, "") else { throw error }
      }
      if clock.pause(milliseconds: Self.busyPause) { throw .interrupted }
    }
    throw .byBroker(.busy, "")
  }

  private func firstReply(to request: BrokerRequest) throws(Refusal) -> Reply {
    // A user who has not seen a question yet gets no line about a missing broker.
    let lost = request.isAgreed ? Refusal.brokerLost : .callerNotRoot
    let socket = iampass_connect(path)
    guard socket >= 0 else {
      // The queue of callers is full (unix(7)).
      throw errno == EAGAIN ? .byBroker(.busy, "") : lost
    }
    let channel = BrokerChannel(descriptor: socket)
    // Any user may have bound a path. Only root's answer counts.
    guard iampass_peer(socket).uid == 0 else { throw lost }
    let mayRing = request.isAgreed || request.prompt == .push
    let deadline = clock.now().advanced(milliseconds: mayRing ? Self.slackMilliseconds : Self.quickMilliseconds)
    do throws(BrokerChannel.Failure) {
      try channel.send(.request(request))
    } catch {
      // A busy broker closes the connection without reading, but its answer may have come. An approval without a
      // request does not count.
      _ = try read(channel, clock.now(), lost, mayRing: mayRing)
      throw lost
    }
    return try read(channel, deadline, lost, mayRing: mayRing)
  }

  private func read(
    _ channel: BrokerChannel, _ deadline: MonotonicInstant, _ lost: Refusal, mayRing: Bool
  ) throws(Refusal) -> Reply {
    var lost = lost
    var deadline = deadline
    while true {
      let message: BrokerMessage
      do throws(BrokerChannel.Failure) {
        message = try channel.receive(by: deadline, interruption: interruption)
      } catch { throw error == .interrupted ? .interrupted : lost }
      switch message {
      case .request: throw lost
      case .say(let text):
        do { try conversation.say(text) } catch {
          // The dialogs of MATE's and Xfce's lockers answer each line with an error. They end when the user leaves.
          if geteuid() == 0 { throw .abandoned }
        }
        // Lines before a question do not mean that a phone rings.
        guard mayRing else { continue }
        // The phone rings. Its user has the configuration's time.
        let time = ApprovalTimeout.bounds.upperBound * 1_000 + Self.slackMilliseconds
        deadline = clock.now().advanced(milliseconds: time)
        lost = .brokerLost
      case .ask(let prompt): return .question(prompt)
      case .ended(.approved, let name): return .approved(session: StartedSession.label(name))
      case .ended(let ending, let text): throw .byBroker(ending, text)
      }
    }
  }

  /// Returns if the user pressed Enter.
  private func agree(_ prompt: String, _ request: BrokerRequest) throws(Refusal) {
    var answer = try self.answer(to: prompt)
    if answer == nil { answer = try self.answer(to: prompt) }
    guard let typed = answer else { throw .answeredByNobody }
    guard !typed.isEmpty else { return }
    // If a first factor's password is already there, any text would pass as the second factor.
    if request.hasPassword { throw .textAtSecondFactor }
    // The password stays in this process. The broker never gets it.
    do { try conversation.keepPassword(typed) } catch { throw .terminalGone }
    throw .passwordTyped
  }

  /// Nil for an empty answer in a root program that came faster than a person reads. A locker answers with text that
  /// was typed before it asked, so its user's Enter comes at once.
  private func answer(to prompt: String) throws(Refusal) -> Secret? {
    let asked = clock.now()
    let typed: Secret?
    do { typed = try conversation.ask(prompt) } catch { throw .terminalGone }
    guard let typed else { throw .promptNotAnswered }
    let isFast = clock.now().milliseconds(since: asked) < LoginPolicy.fastestEnter
    return typed.isEmpty && isFast && geteuid() == 0 ? nil : typed
  }
}
