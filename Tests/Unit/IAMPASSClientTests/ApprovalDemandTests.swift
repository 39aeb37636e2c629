import HostState
import IAMPASSProtocol
import Testing

@testable import IAMPASSClient

@Suite struct ApprovalDemandTests {
  private let verifier = LibcryptoVerifier()

  private func gap(_ phones: [PinnedPhone], _ asked: [AuthenticationMethod]) -> TrustGap? {
    do throws(TrustGap) {
      _ = try ApprovalDemand(phones: phones, asked: asked, verifier: verifier)
      return nil
    } catch { return error }
  }

  @Test func aUserWithoutATrustedPhoneIsNotAsked() throws {
    #expect(gap([], []) == .noPhone)
    let plain = try SigningPhone().pin(lock: false)
    #expect(gap([plain], [.device]) == .noMethod([.device]))
    // An app's word for a face is not signed by anything that a computer knows.
    #expect(gap([try SigningPhone().pin()], [.facial]) == .noMethod([.facial]))
  }

  @Test func theStrongestMethodThatIsAskedForAndKnownIsDemanded() throws {
    func methods(_ asked: [AuthenticationMethod], lock: Bool) throws -> [AuthenticationMethod] {
      try ApprovalDemand(phones: [try SigningPhone().pin(lock: lock)], asked: asked, verifier: verifier).methods
    }
    #expect(try methods([], lock: true) == [.device])
    #expect(try methods([.acceptance, .device], lock: true) == [.device])
    #expect(try methods([.acceptance], lock: true) == [.acceptance])
    #expect(try methods([.acceptance, .device], lock: false) == [.acceptance])
    #expect(try methods([.facial, .acceptance], lock: true) == [.acceptance])
  }

  @Test func codesAreTwoDigitsAndDiffer() throws {
    let demand = try ApprovalDemand(phones: [try SigningPhone().pin()], asked: [], verifier: verifier)
    var seen: Set<String> = []
    for _ in 0..<400 {
      let asked = try AskedApproval(demand, context: SignInContext(), origin: SigningPhone.origin)
      let code = asked.code.exposedValue
      #expect(code.utf8.count == 2 && Int(code).map { (0...99).contains($0) } == true)
      seen.insert(code)
    }
    // 400 draws of 100 values leave 2 out on average; 40 would be a draw that is not a fair one.
    #expect(seen.count > 60)
  }
}
