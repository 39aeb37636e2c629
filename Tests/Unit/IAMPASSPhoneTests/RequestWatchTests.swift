import DeviceProtocol
import IAMPASSPhone
import IAMPASSProtocol
import Testing

@Suite struct RequestWatchTests {
  /// Keeps what it hears.
  private final class Listener: PhoneUser {
    private(set) var trained: [[AuthenticationMethod]] = []

    func decision(on request: OpenRequest) throws -> PhoneDecision? { nil }
    func hear(_ event: WatchEvent) { if case .trainingRequired(let methods) = event { trained.append(methods) } }
    func pause(milliseconds: Int64) throws {}
  }

  private func listing(_ methods: String) -> ScriptedService.Step {
    .reply(200, #"{"status":true,"requests":[],"training_required":[\#(methods)]}"#)
  }

  @Test func aMethodThatThePhoneLacksIsToldOnceUntilItIsAdded() throws {
    let service = ScriptedService([
      listing(""), listing(#""device""#), listing(#""device""#), listing(""), listing(#""device","iris""#),
      .reply(200, #"{"status":true,"requests":[]}"#),
    ])
    let account = PhoneAccount(
      server: try ServerURL("https://iampass.test"), device: "d", key: try DeviceKey.generate(), application: "office",
      user: "Alice", authority: nil)
    let listener = Listener()
    let watch = RequestWatch(phone: RegisteredPhone(account: account, transport: service), user: listener)
    while !service.isFinished { #expect(try watch.next()?.isEmpty == true) }
    #expect(listener.trained == [[.device], [.device]])
  }
}
