import IAMPASSProtocol
import Testing

@Suite struct ServiceMarkFormTests {
  private let mark = ServiceMark(epoch: 5, counter: 100)

  @Test(
    arguments: [
      (5, 100, true), (5, 101, true), (5, 99, false), (6, 0, false), (6, 200, false), (4, 200, false),
    ] as [(Int64, Int64, Bool)])
  func continuesOnlyWithinItsEpochAndForward(_ epoch: Int64, _ counter: Int64, _ continues: Bool) {
    #expect(ServiceMark(epoch: epoch, counter: counter).continues(mark) == continues)
  }

  @Test func isTheLastMemberOfABody() throws {
    let done = mark.added(to: AcknowledgementReply(done: true).encoded())
    #expect(done == Array(#"{"status":true,"mark":{"epoch":5,"counter":100}}"#.utf8))
    #expect(mark.added(to: Array("no JSON".utf8)) == Array("no JSON".utf8))
    let status = StatusReply(status: .active, authenticated: true, reason: nil, session: "s")
    let marked = mark.added(to: status.encoded())
    #expect(try StatusReply(parsing: marked).mark == mark)
    #expect(ServiceMark(in: marked) == mark)
  }

  @Test(
    arguments: [
      #"{}"#, #"{"mark":5}"#, #"{"mark":{"epoch":5}}"#, #"{"mark":{"epoch":-1,"counter":2}}"#,
      #"{"mark":{"epoch":1.5,"counter":2}}"#, #"{"mark":{"epoch":"5","counter":2}}"#, "[]", "",
    ])
  func anInvalidMarkIsNil(_ body: String) {
    #expect(ServiceMark(in: Array(body.utf8)) == nil)
  }
}
