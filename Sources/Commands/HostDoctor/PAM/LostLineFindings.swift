import HostState
import HostSystem
import PAMStacks

/// Findings about PAM files that have lost the line of a listed service since `iampassctl enable` or the helper saw it.
enum LostLineFindings {
  static func findings(_ configuration: Configuration, pamFolder: String) -> [Finding] {
    let known: [PhoneLine]
    do { known = try PhoneLineNote(state: RunFolder(path: configuration.stateFolder)).read() } catch {
      return [Finding(.warning, .pam, error.explanation, hint: error.hint)]
    }
    let services = configuration.services
    let lines = PhoneLines(
      of: services, reader: PAMReader(folder: pamFolder), opensSession: configuration.opensSession)
    return LostLines.all(lines.lost(of: known, listed: services)).map {
      Finding(.problem, .pam, $0.text, hint: $0.hint)
    }
  }
}
