import ArgumentParser
import CommandSupport
import Glibc
import HostSystem
import IAMPASSServer

/// Messages of the service's commands besides their output.
enum Notice {
  /// Prints a line on standard error.
  static func tell(_ message: String) {
    // If the terminal is gone, the write fails.
    _ = WholeText.write("iampass-server: \(message)\n", to: STDERR_FILENO)
  }
}

/// Problems of every command.
extension CommandProblem {
  static func notPrinted(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "the output cannot be written: \(systemText(code))",
      hint: "look at the space on its disk, and run this again", exitCode: EX_IOERR)
  }

  /// The secret could not be printed. The change was undone.
  static func secretNotPrinted(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "the secret cannot be written: \(systemText(code)); what was made is taken back",
      hint: "look at the space on the output's disk, and run this again", exitCode: EX_IOERR)
  }

  /// The secret could not be printed, and the change could not be undone.
  static func secretLost(_ code: Int32, id: String) -> CommandProblem {
    CommandProblem(
      message: "the secret of \(id) cannot be written: \(systemText(code)); it cannot be taken back either",
      hint: "revoke a host credential with host-credential revoke; renew an application's secret in the console",
      exitCode: EX_IOERR)
  }

  static func systemText(_ code: Int32) -> String { String(cString: strerror(code)) }

  /// Any other failure of the storage.
  init(unexpected error: any Error) {
    self.init(message: "\(error)", hint: "look at the data directory and its disk", exitCode: EX_IOERR)
  }
}

/// Runs `work`, and turns its failures into messages for people.
func explaining<Value>(_ work: () async throws -> Value) async throws -> Value {
  do {
    return try await work()
  } catch let error as StorageError {
    throw CommandProblem(error)
  } catch let error as ServerError {
    throw CommandProblem(error)
  } catch let error as BackupError {
    throw CommandProblem(error)
  } catch let refusal as MoveRefusal {
    throw CommandProblem(refusal)
  } catch let fault as SealFault {
    throw CommandProblem(fault)
  } catch let problem as CommandProblem {
    throw problem
  } catch let code as ExitCode {
    // A program that this one has started has said why.
    throw code
  } catch {
    throw CommandProblem(unexpected: error)
  }
}
