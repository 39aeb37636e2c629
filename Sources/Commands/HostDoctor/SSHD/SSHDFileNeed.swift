import CommandSupport

/// Why sshd needs the file that `iampassctl enable --sshd` wrote. The file switches keyboard-interactive on, which
/// AuthenticationMethods may ask for.
package struct SSHDFileNeed: Sendable, Equatable {
  /// What sshd says if it does not start without the file; nil if it starts.
  package let refusal: String?
  /// The lines of AuthenticationMethods that let nobody in without the file, with their places.
  package let lines: [String]

  /// Has sshd read its settings without the file. Nothing changes meanwhile. Nil if sshd does not need the file.
  package static func find(_ path: String) -> SSHDFileNeed? {
    let reader = SSHDMatchReader()
    guard let main = reader.mainFile(without: path) else {
      return judge(
        Program.exists(SSHDaemon.path) ? .failed("\(SSHDMatchReader.file) cannot be read") : .notInstalled,
        SSHDMatchReader.Result())
    }
    return judge(SSHDaemon.settings(main: main), reader.look())
  }

  /// - Parameters:
  ///   - answer: what sshd says without the file.
  ///   - found: the lines of its configuration.
  static func judge(_ answer: SSHDaemon.Answer, _ found: SSHDMatchReader.Result) -> SSHDFileNeed? {
    let lines = found.methods.filter { line in
      let isOnItsOwn = line.block.map { found.blocks[$0].setsKeyboardInteractive } ?? false
      return !isOnItsOwn && SSHDMethods(line.value).needKeyboardInteractive
    }.map { "\($0.place): AuthenticationMethods \($0.value)" }
    switch answer {
    case .notInstalled: return nil
    case .failed(let output):
      // The lines' numbers are those of the file itself.
      let said = output.replacing(SSHDaemon.standardInput, with: SSHDMatchReader.file)
      return SSHDFileNeed(refusal: said.split(whereSeparator: \.isNewline).joined(separator: "; "), lines: lines)
    case .settings(let settings):
      return settings.asksPAM || lines.isEmpty ? nil : SSHDFileNeed(refusal: nil, lines: lines)
    }
  }
}
