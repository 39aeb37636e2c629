import CHost
import CommandSupport
import Glibc
import HostSystem

/// A certificate and key in files of the administrator.
struct GivenPair: Sendable {
  private static let greatestFile = 1_048_576
  /// Folders that the packaged service does not see (`ProtectHome=` and `PrivateTmp=` in its unit).
  private static let hidden = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"]

  let chain: [UInt8]
  let key: [UInt8]
  let certificate: TLSCertificate

  /// Reads both files. Throws if the service or its clients could not use them.
  ///
  /// - Parameter now: the time in Unix seconds.
  init(certificate path: String, key keyPath: String, for name: PublicName, at now: Int64) throws(CommandProblem) {
    chain = try Self.bytes(of: path)
    key = try Self.bytes(of: keyPath)
    let certificate: TLSCertificate
    let read: TLSKey
    do { certificate = try TLSCertificate(pem: chain) } catch { throw .notReadable(path, error) }
    do { read = try TLSKey(pem: key) } catch { throw .notReadable(keyPath, error) }
    guard certificate.fits(read) else { throw .notAPair(path, keyPath) }
    guard certificate.ends > now else { throw .certificateEnded(path) }
    guard certificate.begins <= now else { throw .certificateNotBegun(path) }
    guard certificate.covers(name) else { throw .certificateForOthers(path, name.text) }
    self.certificate = certificate
  }

  /// The folder of the file that the packaged service's unit hides; nil if it hides none.
  static func hiddenFolder(of path: String) -> String? {
    hidden.first { path == $0 || path.hasPrefix($0 + "/") }
  }

  private static func bytes(of path: String) throws(CommandProblem) -> [UInt8] {
    // A FIFO must not block.
    let descriptor = iampass_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else {
      throw CommandProblem(FileError(errno == ENOENT ? .missing : .system(errno), path: path))
    }
    guard let file = fdopen(descriptor, "r") else {
      close(descriptor)
      throw CommandProblem(FileError(.system(errno), path: path))
    }
    defer { fclose(file) }
    var found = stat()
    guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG else {
      throw CommandProblem(FileError(.notRegular, path: path))
    }
    guard found.st_size <= greatestFile else { throw CommandProblem(FileError(.tooLarge, path: path)) }
    var bytes = [UInt8](repeating: 0, count: Int(found.st_size))
    guard fread(&bytes, 1, bytes.count, file) == bytes.count else {
      throw CommandProblem(FileError(.system(EIO), path: path))
    }
    return bytes
  }
}
