import ArgumentParser
import CommandSupport
import Glibc

/// Prints a problem once, and exits with its code. Lost output counts as a problem if there is no other.
func reportingProblems(_ body: () throws -> Void) throws {
  var end: ExitCode?
  do { try body() } catch let problem as CommandProblem {
    // On a terminal a prompt or a spinner may stand in the line.
    if problem.exitCode == Interrupt.exitCode, isatty(STDERR_FILENO) == 1 { Terminal.complain("") }
    problem.report(by: "iampassctl")
    end = ExitCode(problem.exitCode)
  } catch let code as ExitCode where Terminal.outputError == nil { throw code } catch is ExitCode {
    // The output was lost, so it could not be shown.
  }
  if let number = Terminal.outputError {
    let lost = CommandProblem.outputLost(number)
    lost.report(by: "iampassctl")
    end = end ?? ExitCode(lost.exitCode)
  }
  if let end { throw end }
}

func requireRoot() throws(CommandProblem) {
  guard geteuid() == 0 else { throw .notRoot }
}
