import Glibc
import HostState
import HostSystem
import Testing

@testable import IAMPASSControl

/// Scripts go by these codes: sysexits.h, or 128 and a signal.
@Suite struct FailureTests {
  private static let file = FileError(.system(ENOSPC), path: "/etc/iampass/users")

  @Test(
    arguments: [
      (.notRoot, EX_NOPERM), (.badUsername("a:b"), EX_USAGE), (.busy, EX_TEMPFAIL), (.file(Self.file), EX_IOERR),
      (.file(FileError(.missing, path: "/x")), EX_NOINPUT), (.outputLost(ENOSPC), EX_IOERR),
      (.notSetUp(folder: "/etc/iampass"), EX_CONFIG), (.noSession("0123"), EX_DATAERR), (.interrupted, 130),
      (.interruptedUnchanged, 130), (.missingOption("--server"), EX_USAGE), (.badSecret, EX_DATAERR),
      (Failure(.badLine(3), path: "/p"), EX_CONFIG), (Failure(.file(Self.file), path: "/p"), EX_IOERR),
      (Failure(.tooMany, path: "/p"), EX_CONFIG), (.keysNotTold, EX_UNAVAILABLE),
      (.phoneForgotten(UnixUsername(validating: "alice")!), EX_CONFIG),
    ] as [(Failure, Int32)])
  func eachHasItsCodeAndAMessageForALine(failure: Failure, code: Int32) {
    let problem = failure.problem
    #expect(problem.exitCode == code)
    #expect(!problem.message.isEmpty && !problem.message.hasSuffix(".") && !problem.message.contains("\n"))
    #expect(problem.hint != "")
  }

  @Test func whatSomebodyTypedReachesNoTerminalRaw() {
    #expect(!Failure.badUsername("\u{1b}[2J").message.contains("\u{1b}"))
  }

  @Test func onlyAnInterruptedCallOrTheServicesWordMayHaveArrived() {
    #expect(Failure.interrupted.mayHaveArrived)
    for failure in [Failure.notRoot, .busy, .interruptedUnchanged, .file(Self.file)] {
      #expect(!failure.mayHaveArrived)
    }
  }

  @Test func aSecretIsPrintableAndBounded() {
    #expect(SetupAnswers.isPlain(Array("yNGfB51YbmwxAscRuzOl8G5U".utf8)))
    for bytes in [[], Array("a b".utf8), Array("a\u{e9}".utf8), [0x7F], [0], [UInt8](repeating: 0x61, count: 513)] {
      #expect(!SetupAnswers.isPlain(bytes))
    }
  }
}
