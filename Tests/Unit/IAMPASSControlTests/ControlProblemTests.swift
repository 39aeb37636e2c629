import CommandSupport
import Glibc
import HostState
import HostSystem
import Testing

@testable import IAMPASSControl

/// Scripts go by these codes: sysexits.h, or 128 and a signal.
@Suite struct ControlProblemTests {
  private static let file = FileError(.system(ENOSPC), path: "/etc/iampass/users")

  @Test(
    arguments: [
      (.notRoot, EX_NOPERM), (.badUsername("a:b"), EX_USAGE), (.busy, EX_TEMPFAIL), (.file(Self.file), EX_IOERR),
      (.file(FileError(.missing, path: "/x")), EX_NOINPUT), (.outputLost(ENOSPC), EX_IOERR),
      (.notSetUp(folder: "/etc/iampass"), EX_CONFIG), (.noSession("0123"), EX_DATAERR), (.interrupted, 130),
      (.interruptedUnchanged, 130), (.missingOption("--server"), EX_USAGE), (.badSecret, EX_DATAERR),
      (CommandProblem(.badLine(3), path: "/p"), EX_CONFIG), (CommandProblem(.file(Self.file), path: "/p"), EX_IOERR),
      (CommandProblem(.tooMany, path: "/p"), EX_CONFIG), (.keysNotTold, EX_UNAVAILABLE),
      (.phoneForgotten(UnixUsername(validating: "alice")!), EX_CONFIG), (.trialOfWhatIsOn, EX_CONFIG),
      (.changedMeanwhile, EX_TEMPFAIL),
    ] as [(CommandProblem, Int32)])
  func eachHasItsCodeAndAMessageForALine(problem: CommandProblem, code: Int32) {
    #expect(problem.exitCode == code)
    #expect(!problem.message.isEmpty && !problem.message.hasSuffix(".") && !problem.message.contains("\n"))
    #expect(problem.hint != "")
  }

  @Test func whatSomebodyTypedReachesNoTerminalRaw() {
    #expect(!CommandProblem.badUsername("\u{1b}[2J").message.contains("\u{1b}"))
  }

  @Test func onlyAnInterruptedCallOrTheServicesWordMayHaveArrived() {
    #expect(CommandProblem.interrupted.mayHaveArrived)
    for problem in [CommandProblem.notRoot, .busy, .interruptedUnchanged, .file(Self.file)] {
      #expect(!problem.mayHaveArrived)
    }
  }

  @Test func onlyWhatTheServiceAnsweredCountsAsItsAnswer() {
    #expect(CommandProblem.service(.notFound).serviceError == .notFound)
    // A caller that goes on after an answer must not go on after these.
    #expect(CommandProblem.signsLess(.replyNotSigned, thanSaid: true).serviceError == nil)
    #expect(CommandProblem.mayNotManage(credentials: "/c").serviceError == nil)
    #expect(CommandProblem.interrupted.serviceError == nil)
  }

  @Test func aSecretIsPrintableAndBounded() {
    #expect(SetupAnswers.isPlain(Array("yNGfB51YbmwxAscRuzOl8G5U".utf8)))
    for bytes in [[], Array("a b".utf8), Array("a\u{e9}".utf8), [0x7F], [0], [UInt8](repeating: 0x61, count: 513)] {
      #expect(!SetupAnswers.isPlain(bytes))
    }
  }
}
