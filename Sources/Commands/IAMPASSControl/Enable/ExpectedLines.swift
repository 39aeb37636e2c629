import CommandSupport
import HostState
import HostSystem
import PAMStacks

/// The lines that the helper expects in PAM's files, and tells root of if they go.
enum ExpectedLines {
  /// Those that are there now, and no others: what went before was meant.
  static func note(_ configuration: Configuration, folder: String) {
    let lines = PhoneLines(
      of: configuration.services, reader: PAMReader(folder: folder), opensSession: configuration.opensSession)
    do { try PhoneLineNote(state: RunFolder(path: configuration.stateFolder)).write(lines.found) } catch {
      Terminal.complain("warning: nobody is told if a PAM file loses its line: \(error.explanation)")
    }
  }

  /// A configuration that cannot be read has the usual folder.
  static func forget(_ host: HostOptions) throws(Failure) {
    let configuration = (try? Configuration(path: host.path)) ?? Configuration()
    do { try PhoneLineNote(state: RunFolder(path: configuration.stateFolder)).forget() } catch { throw .file(error) }
  }
}
