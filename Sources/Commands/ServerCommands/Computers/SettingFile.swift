import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol

/// Reads a file with a key that an administrator gives once.
enum SettingFile {
  /// The greatest size in bytes: many times a certificate with its chain.
  private static let limit = 64 * 1_024

  /// The file's bytes. A pipe or a device is refused, because reading it could block for ever.
  static func read(_ path: String) throws(CommandProblem) -> [UInt8] {
    do throws(FileError) {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
      guard descriptor >= 0 else { throw SecureFile.openError(path) }
      defer { close(descriptor) }
      var found = stat()
      guard fstat(descriptor, &found) == 0 else { throw FileError(.system(errno), path: path) }
      guard found.st_mode & S_IFMT == S_IFREG else { throw FileError(.notRegular, path: path) }
      guard found.st_size <= limit else { throw FileError(.tooLarge, path: path) }
      guard found.st_size > 0 else { throw FileError(.empty, path: path) }
      return try SecureFile.readAll(descriptor, path: path, expecting: Int(found.st_size), limit: limit)
    } catch {
      throw CommandProblem(
        message: DisplayText.sanitized(error.explanation), hint: "give a readable file", exitCode: EX_NOINPUT)
    }
  }
}
