import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// A service that gives one list, whatever it was asked.
private final class ListingService: HTTPTransport {
  static let credential = ServiceCredential(applicationID: "own", secret: Secret("abcdefghijklmnopqrstuvwx"))

  var list = UserListReply(
    credential: "own", version: 3, since: 0, count: 1, changes: [.listed(name: "alice", token: Secret("t"))],
    hasMore: false)
  var signsTarget = true
  /// The address that the reply is signed for instead.
  var answers: String?
  var mark: ServiceMark? = ServiceMark(epoch: 5, counter: 1)

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    let header = request.headers.first { $0.name == Dialect.authenticationHeader }?.value ?? ""
    let nonce = UnverifiedAuthentication(header: header)?.nonce ?? ""
    let body = mark?.added(to: list.encoded()) ?? list.encoded()
    var headers = [
      (
        name: ReplySignature.header,
        value: ReplySignature.signature(secret: Self.credential.secret, nonce: nonce, status: 200, body: body)
      )
    ]
    if signsTarget {
      headers.append(
        (
          ReplySignature.targetHeader,
          ReplySignature.targetSignature(
            secret: Self.credential.secret, nonce: nonce, method: "GET", address: answers ?? request.url, status: 200,
            body: body)
        ))
    }
    return HTTPReply(status: 200, headers: headers, body: body)
  }
}

@Suite struct UserListInquiryTests {
  private let service = ListingService()

  private func page(since: Int64 = 0, signedReplies: Bool = true) throws -> UserListPage {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: signedReplies)
    let client = UserListClient(
      settings: settings, credential: ListingService.credential, transport: service, unixTime: { 0 })
    return try client.page(
      UserListQuestion(since: since, after: ""), deadline: .now().advanced(milliseconds: 60_000))
  }

  @Test func aSignedListIsTaken() throws {
    let page = try page()
    #expect(page.reply == service.list)
    #expect(page.epoch == 5)
  }

  @Test func anUnsignedListIsRefusedWhateverTheSettingsSay() {
    service.signsTarget = false
    for signedReplies in [true, false] {
      #expect(throws: ServiceError.replyTargetNotSigned) { try page(signedReplies: signedReplies) }
    }
  }

  @Test func anotherQuestionsListIsRefused() {
    service.answers = "https://h/authentication/user_list/own?version=9"
    #expect(throws: ServiceError.self) { try page() }
    service.answers = nil
    // Signed, and since another version than was asked for.
    #expect(throws: ServiceError.replyForAnother) { try page(since: 2) }
  }

  @Test func aListForAnotherIsRefused() {
    service.list = UserListReply(credential: "other", version: 3, since: 0, count: 0, changes: [], hasMore: false)
    #expect(throws: ServiceError.replyForAnother) { try page() }
  }

  @Test func aListWithoutAVersionIsRefused() {
    service.list = UserListReply(credential: "own", version: 0, since: 0, count: 0, changes: [], hasMore: false)
    #expect(throws: ServiceError.replyForAnother) { try page() }
  }

  @Test func aListWithoutItsPlaceInHistoryIsRefused() {
    service.mark = nil
    #expect(throws: ServiceError.self) { try page() }
  }

  @Test func repliesAreReadAsTheyWereWritten() throws {
    let reply = UserListReply(
      credential: "own", version: 9, since: 4, count: 7,
      changes: [.removed(name: "a"), .listed(name: "b", token: Secret("x+/="))], hasMore: true)
    #expect(try UserListReply(parsing: reply.encoded()) == reply)
    for line in ["", "+", "-", "+a", "+:t", "alice:t"] {
      let body = #"{"status":true,"for":"own","version":1,"since":0,"count":1,"more":false,"users":["\#(line)"]}"#
      #expect(throws: MessageError.self) { try UserListReply(parsing: Array(body.utf8)) }
    }
  }
}
