import CommandSupport
import HostState
import HostSystem
import PAMStacks

/// The lines that the helper expects in PAM's files. It warns root if they are lost.
enum ExpectedLines {
  /// Expects exactly the lines that are there now. Lines that were removed before were removed on purpose.
  static func note(_ configuration: Configuration, folder: String) {
    let lines = PhoneLines(
      of: configuration.services, reader: PAMReader(folder: folder), opensSession: configuration.opensSession)
    do { try PhoneLineNote(state: RunFolder(path: configuration.stateFolder)).write(lines.found) } catch {
      Terminal.complain("warning: nobody is told if a PAM file loses its line: \(error.explanation)")
    }
  }

  /// Expects no lines any more. If the configuration cannot be read, this uses the default folder.
  static func forget(_ host: HostOptions) throws(CommandProblem) {
    let configuration = (try? Configuration(path: host.path)) ?? Configuration()
    do { try PhoneLineNote(state: RunFolder(path: configuration.stateFolder)).forget() } catch { throw .file(error) }
  }
}
