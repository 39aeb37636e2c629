import CHost
import Glibc
import HostState
import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// Real terminals, and processes of a made-up /proc that name them.
@Suite struct SessionTerminalsTests {
  /// Both ends of a new terminal, which belongs to root.
  private final class Pair {
    let outer: Int32
    private let inner: Int32
    let path: String
    /// In the form of field 7 of `/proc/PID/stat`.
    let number: UInt

    init() throws {
      var ends: (outer: Int32, inner: Int32) = (-1, -1)
      try #require(openpty(&ends.outer, &ends.inner, nil, nil, nil) == 0)
      (outer, inner) = ends
      try #require(fcntl(outer, F_SETFL, O_NONBLOCK) == 0)
      // All tests share ttyname's buffer.
      var name = [CChar](repeating: 0, count: 64)
      try #require(ttyname_r(inner, &name, name.count) == 0)
      path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      var found = stat()
      try #require(fstat(inner, &found) == 0)
      number = found.st_rdev
    }

    deinit {
      close(inner)
      close(outer)
    }

    /// What the terminal shows.
    func shown() -> String {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(outer, &bytes, bytes.count)
      return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
  }

  private func proc(_ terminals: [UInt]) throws -> ScratchFolder {
    let folder = try ScratchFolder()
    for (index, number) in terminals.enumerated() {
      try folder.write("\(index + 1)/stat", "\(index + 1) (a) b) c) S 1 1 1 \(number) 1 4194304 0")
    }
    return folder
  }

  @Test func theLineStandsOnALineOfItsOwn() throws {
    let terminal = try Pair()
    let proc = try proc([terminal.number])
    #expect(SessionTerminals(proc: proc.path).tell("Signed out.", to: [1], of: 0) == [terminal.path])
    // The terminal turns LF into CR LF.
    #expect(terminal.shown() == "\r\r\nSigned out.\r\r\n")
  }

  @Test func eachTerminalGetsItOnce() throws {
    let (one, other) = (try Pair(), try Pair())
    let proc = try proc([one.number, one.number, other.number])
    let told = SessionTerminals(proc: proc.path).tell("x", to: [1, 2, 3], of: 0)
    #expect(Set(told) == [one.path, other.path])
    #expect(told.count == 2)
    #expect(one.shown() == "\r\r\nx\r\r\n")
  }

  @Test func aStrangersTerminalIsLeftAlone() throws {
    let terminal = try Pair()
    let proc = try proc([terminal.number])
    #expect(SessionTerminals(proc: proc.path).tell("x", to: [1], of: 1_000) == [])
    #expect(terminal.shown() == "")
  }

  @Test func escapesAreShownAsQuestionMarks() throws {
    let terminal = try Pair()
    let proc = try proc([terminal.number])
    SessionTerminals(proc: proc.path).tell("a\u{1B}]0;b\u{7}\nc", to: [1], of: 0)
    #expect(terminal.shown() == "\r\r\na?]0;b??c\r\r\n")
  }

  @Test func aFullTerminalIsPassedOver() throws {
    let terminal = try Pair()
    let proc = try proc([terminal.number])
    let inner = iampass_open(terminal.path, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0)
    defer { close(inner) }
    let filling = [UInt8](repeating: 0x61, count: 4_096)
    // The kernel passes the text on a moment later, which makes room again.
    var told = ["none yet"]
    for _ in 0..<100 where !told.isEmpty {
      while write(inner, filling, filling.count) > 0 {}
      usleep(20_000)
      told = SessionTerminals(proc: proc.path).tell("x", to: [1], of: 0)
    }
    #expect(told == [])
  }

  @Test func aStoppedTerminalIsPassedOver() throws {
    let terminal = try Pair()
    let proc = try proc([terminal.number])
    let inner = iampass_open(terminal.path, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0)
    defer { close(inner) }
    try #require(tcflow(inner, Int32(TCOOFF)) == 0)
    #expect(SessionTerminals(proc: proc.path).tell("x", to: [1], of: 0) == [])
  }

  @Test func whatIsNotThatVeryDeviceIsNotWrittenTo() throws {
    let (terminal, devices) = (try Pair(), try ScratchFolder())
    let name = try #require(SessionTerminals.name(of: UInt32(terminal.number)))
    try devices.write("pts/x")
    let proc = try proc([terminal.number])
    let terminals = SessionTerminals(proc: proc.path, devices: devices.path)
    // Another device: /dev/null, which accepts everything.
    try #require(mknod(devices.path + "/" + name, S_IFCHR | 0o600, 0x103) == 0)
    #expect(terminals.tell("x", to: [1], of: 0) == [])
    // A link to the right one.
    unlink(devices.path + "/" + name)
    symlink(terminal.path, devices.path + "/" + name)
    #expect(terminals.tell("x", to: [1], of: 0) == [])
    // A file.
    unlink(devices.path + "/" + name)
    try devices.write(name, "")
    #expect(terminals.tell("x", to: [1], of: 0) == [])
    #expect(terminal.shown() == "")
  }

  @Test func processesThatAreGoneOrHaveNoTerminalAreLeftOut() throws {
    let proc = try proc([0])
    try proc.write("2/stat", "2 (torn")
    #expect(SessionTerminals(proc: proc.path).tell("x", to: [1, 2, 3], of: 0) == [])
  }

  @Test(arguments: [
    (UInt32(0x8800), "pts/0"), (0x8812, "pts/18"), (0x0010_8800, "pts/256"), (0x0401, "tty1"), (0x0440, "ttyS0"),
    (0x0400, nil), (0x0501, nil), (0x0103, nil),
  ])
  func namesTerminalsByTheirNumbers(_ number: UInt32, _ name: String?) {
    #expect(SessionTerminals.name(of: number) == name)
  }
}
