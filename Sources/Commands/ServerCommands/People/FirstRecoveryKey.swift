import ArgumentParser
import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

/// Where a new recovery key goes.
struct RecoveryKeyOptions: ParsableArguments {
  static let usualFile = "/root/iampass-recovery-key"

  @Option(
    help: ArgumentHelp(
      "Write a recovery key into this new file, and do not show it (default, without a terminal: \(Self.usualFile)).",
      valueName: "file"), completion: .file())
  var recoveryKeyFile: String?

  func validate() throws {
    if let recoveryKeyFile, !recoveryKeyFile.hasPrefix("/") {
      throw ValidationError("--recovery-key-file takes a path from /")
    }
  }
}

/// A recovery key that is in the first set of administrators, before any phone has signed anything: one lost phone then does
/// not mean that every computer joins again.
///
/// It is there for a person, on paper or in a file, before it counts: one that counts and that nobody has would be worse.
struct FirstRecoveryKey {
  private static let greatestFile = 4_096

  private let key: RecoveryKey
  /// Nil: it is shown.
  private let file: String?

  /// Root's, before this process becomes another user. A file that is there stays as it is: its key goes on, if a command
  /// was broken off after it was written.
  init(_ options: RecoveryKeyOptions) throws(CommandProblem) {
    file = options.recoveryKeyFile ?? (Terminal.isInteractive ? nil : RecoveryKeyOptions.usualFile)
    if let file, let known = try Self.known(file) {
      key = known
      try Self.flushFolder(of: file)
      return
    }
    do { key = try RecoveryKey.generate() } catch { throw .recoveryKeyNotMade }
    guard let file else { return }
    do throws(FileError) {
      let new = try NewFile(for: file, mode: 0o600)
      try new.write(Array((key.exposedText + "\n").utf8))
      guard try new.takeFreePlace(file) else { throw FileError(.system(EEXIST), path: file) }
    } catch { throw CommandProblem(error) }
    try Self.flushFolder(of: file)
  }

  /// A power cut must not take the name of a file whose key counts.
  private static func flushFolder(of file: String) throws(CommandProblem) {
    do throws(FileError) { try FolderFlush.flush(SecureFile.folder(of: file)) } catch { throw CommandProblem(error) }
  }

  /// - Returns: nil if it is not there.
  private static func known(_ file: String) throws(CommandProblem) -> RecoveryKey? {
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(file, privacy: .secret, limit: greatestFile) } catch {
      guard error.code == .missing else { throw CommandProblem(error) }
      return nil
    }
    guard let key = RecoveryKey(Secret(String(decoding: bytes, as: UTF8.self))) else {
      throw CommandProblem(
        message: "\(DisplayText.sanitized(file)) is there, and is not a recovery key",
        hint: "move it away, or name another file by --recovery-key-file", exitCode: EX_CANTCREAT)
    }
    return key
  }

  /// How many administrators' phones would be in a first set that is made now.
  ///
  /// - Parameter place: the options that name the database.
  static func signerCount(replacing: Bool, in place: [String]) throws(CommandProblem) -> Int {
    let lines = try AdministratorFirstSigners.lines(replacing: replacing, in: place)
    return lines.last.flatMap { Int($0) } ?? 0
  }

  var wish: RecoveryWish { .replace(key.publicKey) }

  /// Before it counts.
  ///
  /// - Parameter print: prints lines, and throws if that fails.
  func show(_ print: ([String]) throws -> Void) throws {
    let place = file.map { ["A recovery key, for root alone, is in the file:", "  \($0)"] }
    let words = PhoneKeys(publicKey: key.publicKey.text, credential: nil).words
    try print(
      (place ?? ["A recovery key, which is shown this one time:", "  \(key.exposedText)"]) + [
        "It counts once a line below says so. administrator list names it as: \(words)",
        "\(file == nil ? "Write it down, and keep it" : "Write it down, or move the file, and keep it") off computers.",
        "If the phones of administrators are lost, it signs their next ones, and no computer joins again:",
        "  iampass-server administrator sign --recovery-key \(file ?? "-")",
      ])
  }

  var counts: String { "The recovery key counts from now on." }
  var doesNotCount: String { "this recovery key does not count: throw it away" }
}
