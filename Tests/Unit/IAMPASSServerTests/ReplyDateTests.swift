import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct ReplyDateTests {
  @Test func isWrittenAsRFC9110Says() {
    #expect(ReplyDate.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test func isReadAsTheSameTime() {
    let leapDay: Int64 = 1_709_164_800
    #expect(HTTPDate.unixTime(ReplyDate.text(of: Int(leapDay))) == leapDay)
  }
}
