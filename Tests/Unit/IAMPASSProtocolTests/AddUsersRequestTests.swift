import IAMPASSProtocol
import Testing

@Suite struct AddUsersRequestTests {
  private func read(_ text: String) throws -> AddUsersRequest { try AddUsersRequest(parsing: Array(text.utf8)) }

  @Test func withoutNamesItIsThePublishedBody() {
    #expect(AddUsersRequest(users: ["a", "b"]).encoded() == UsersRequest(users: ["a", "b"]).encoded())
  }

  @Test func whatIsWrittenReadsBackAndAnOlderServiceReadsTheUsers() throws {
    let request = AddUsersRequest(
      users: ["a", "b"], names: [.init(user: "b", text: "Bob \"B\" \\"), .init(user: "a", text: "")])
    #expect(try AddUsersRequest(parsing: request.encoded()) == request)
    #expect(try UsersRequest(parsing: request.encoded()) == UsersRequest(users: ["a", "b"]))
  }

  @Test(arguments: [
    #"{"users":["a"],"names":[]}"#, #"{"users":["a"],"names":"a"}"#, #"{"users":["a"],"names":{"a":1}}"#,
  ])
  func namesOfAnotherFormAreRefused(_ text: String) {
    #expect(throws: MessageError.member("names")) { try read(text) }
  }

  @Test(arguments: ["", "alice", "Zoë Müller-O'Hara", "李雷", "a b", String(repeating: "x", count: 200)])
  func aNameThatAReaderSeesIsFit(_ text: String) {
    #expect(AddUsersRequest.Name(user: "a", text: text).isFit)
  }

  @Test(arguments: [
    " ", " a", "a ", "\u{A0}a", "a\nb", "a\u{7F}", "a\u{9B}b", "a\u{202E}b", "a\u{2066}b", "a\u{200B}b", "\u{E000}",
    String(repeating: "x", count: 201), String(repeating: "e\u{301}", count: 101),
  ])
  func aNameOfWhichAReaderMissesSomethingIsNot(_ text: String) {
    #expect(!AddUsersRequest.Name(user: "a", text: text).isFit)
  }
}
