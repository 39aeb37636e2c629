import CHost
import Glibc
import PresenceLink
import Testing

@testable import SessionHelper

/// The probe at its socket, which does what the test says.
@Suite struct ProbeSocketTests {
  private let folder: ScratchFolder
  private let socket: ProbeSocket
  private var path: String { folder.path + "/probe/socket" }
  private let request = ProbeRequest(adapter: PresenceFixture.adapter, phone: PresenceFixture.hers, level: .medium)

  init() throws {
    folder = try ScratchFolder()
    try #require(mkdir(folder.path + "/probe", 0o755) == 0)
    socket = ProbeSocket(path: folder.path + "/probe/socket")
  }

  /// A socket that listens there.
  private func listen() throws -> Int32 {
    let listening = Glibc.socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listening, $0, size) == 0 }
    }
    try #require(isBound && Glibc.listen(listening, 4) == 0)
    return listening
  }

  /// Takes the question, and answers with these bytes; nil: closes.
  private func answer(_ listening: Int32, _ bytes: [UInt8]?) throws {
    let asker = accept(listening, nil, nil)
    var question = [UInt8](repeating: 0, count: 200)
    let count = recv(asker, &question, question.count, 0)
    try #require(Array(question.prefix(max(0, count))) == request.bytes)
    guard let bytes else {
      _ = close(asker)
      return
    }
    try #require(send(asker, bytes, bytes.count, 0) == bytes.count)
  }

  @Test func anAnswerIsTakenOnce() throws {
    let listening = try listen()
    defer { close(listening) }
    socket.ask(request, at: 0)
    #expect(socket.answer(at: 1) == nil)
    try answer(listening, ProbeReply(phone: PresenceFixture.hers, answer: .near, milliseconds: 7).bytes)
    #expect(socket.answer(at: 2) == .near)
    #expect(socket.answer(at: 3) == nil)
    #expect(socket.descriptor == -1)
  }

  @Test(arguments: ["", "nonsense", "00:AA:01:01:00:03 near 3", String(repeating: "x", count: 129)])
  func anythingElseIsIgnorance(_ text: String) throws {
    let listening = try listen()
    defer { close(listening) }
    socket.ask(request, at: 0)
    // An empty packet cannot be told from an end.
    try answer(listening, text.isEmpty ? nil : Array(text.utf8))
    #expect(socket.answer(at: 1) == .unknown(text.isEmpty ? "probe-gone" : "bad-answer"))
  }

  @Test func aProbeThatDoesNotAnswerIsLeftAloneForAWhile() throws {
    let listening = try listen()
    defer { close(listening) }
    socket.ask(request, at: 0)
    #expect(socket.deadline == 25_000)
    #expect(socket.answer(at: 24_999) == nil)
    #expect(socket.answer(at: 25_000) == .unknown("no-answer"))
    socket.ask(request, at: 26_000)
    #expect(socket.answer(at: 26_000) == .unknown("no-answer"))
    socket.ask(request, at: 35_000)
    #expect(socket.answer(at: 35_000) == nil)
  }

  @Test func aLateAnswerIsNotTakenForTheNextQuestions() throws {
    let listening = try listen()
    defer { close(listening) }
    socket.ask(request, at: 0)
    let late = accept(listening, nil, nil)
    defer { close(late) }
    socket.ask(request, at: 1)
    let bytes = ProbeReply(phone: PresenceFixture.hers, answer: .near, milliseconds: 7).bytes
    #expect(send(late, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == -1)
    #expect(socket.answer(at: 2) == nil)
  }

  @Test func anotherProbeIsAskedAfterAnEnd() throws {
    var listening = try listen()
    socket.ask(request, at: 0)
    try answer(listening, ProbeReply(phone: PresenceFixture.hers, answer: .near, milliseconds: 7).bytes)
    #expect(socket.answer(at: 1) == .near)
    close(listening)
    unlink(path)
    listening = try listen()
    defer { close(listening) }
    socket.rest()
    socket.ask(request, at: 2)
    try answer(listening, ProbeReply(phone: PresenceFixture.hers, answer: .silent, milliseconds: 7).bytes)
    #expect(socket.answer(at: 3) == .silent)
  }

  @Test func withoutAProbeTheAnswerIsUnknown() {
    socket.ask(request, at: 0)
    #expect(socket.deadline == 0)
    #expect(socket.answer(at: 0) == .unknown("no-probe"))
  }

  @Test func aSocketInAnotherUsersFolderIsNotAsked() throws {
    let listening = try listen()
    defer { close(listening) }
    try #require(chown(folder.path + "/probe", 1, 1) == 0)
    socket.ask(request, at: 0)
    #expect(socket.answer(at: 0) == .unknown("foreign-socket"))
  }
}
