import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// What counts as the service's answer to a report that a code has served.
@Suite struct CodeUseInquiryTests {
  private enum Signed: CaseIterable { case not, wrongly, rightly }

  private static let credential = ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx"))
  private static let refusal = #"{"status":false,"reason":"UNKNOWN_USER"}"#

  private func answer(
    _ status: Int, _ body: String, _ signed: Signed = .rightly, isRequired: Bool = true
  ) throws -> CodeUseAnswer {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: isRequired)
    let inquiry = SessionInquiry(
      seal: RequestSeal(settings: settings, credential: Self.credential, unixTime: { 0 }))
    let report = CodeUseReport(id: "a", way: .phone, usedAt: 1, left: nil, context: SignInContext(service: "login"))
    let question = try inquiry.codeUse(report, of: Secret("token"))
    let header = question.request.headers.first { $0.name == Dialect.authenticationHeader }?.value
    let nonce = header.flatMap { UnverifiedAuthentication(header: $0) }?.nonce ?? ""
    let bytes = Array(body.utf8)
    let signature = ReplySignature.signature(
      secret: Self.credential.secret, nonce: signed == .wrongly ? "1" : nonce, status: status, body: bytes)
    let headers = signed == .not ? [] : [(ReplySignature.header, signature)]
    return try inquiry.answerToCodeUse(HTTPReply(status: status, headers: headers, body: bytes), to: question)
  }

  @Test func theServicesOwnAnswersCount() throws {
    #expect(try answer(200, #"{"status":true}"#) == .noted)
    #expect(try answer(200, #"{"status":true,"disowned":true}"#) == .disowned)
    #expect(try answer(404, Self.refusal) == .refused)
  }

  @Test(arguments: [false, true]) func anAnswerWithoutItsSignatureDoesNot(wrongly: Bool) throws {
    let signed: Signed = wrongly ? .wrongly : .not
    #expect(throws: ServiceError.notFound) { try answer(404, Self.refusal, signed) }
    #expect(throws: ServiceError.replyNotSigned) { try answer(200, #"{"status":true,"disowned":true}"#, signed) }
  }

  @Test func aServiceThatSignsNothingIsBelievedAndAProxyIsNot() throws {
    #expect(try answer(404, Self.refusal, .not, isRequired: false) == .refused)
    for body in ["<html>", "", #"{"status":404}"#, #"{"status":true}"#] {
      #expect(throws: ServiceError.notFound) { try answer(404, body, .not, isRequired: false) }
    }
  }

  @Test(arguments: [#"{"status":false}"#, "{}", ""]) func anythingElseIsNotAnAnswer(_ body: String) {
    #expect(throws: ServiceError.self) { try answer(200, body) }
  }
}
