import CHost
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The match codes of a user's requests on this computer. Two open requests do not have the same code.
///
/// A code is an empty file that the request's process has locked. The lock ends with this object or with the process. A
/// request whose process has ended cannot sign a user in.
public final class OpenMatchCodes: MatchCodes {
  /// There are a hundred codes. If one is left, this many draws miss it in less than two of a hundred cases.
  private static let greatestDrawCount = 400

  private let run: RunFolder
  private let user: UnixUsername
  private var locks: [Int32] = []

  public init(run: RunFolder, user: UnixUsername) {
    self.run = run
    self.user = user
  }

  deinit {
    for lock in locks {
      // This comes before the close: a child may have the descriptor, and with it the lock.
      flock(lock, LOCK_UN)
      close(lock)
    }
  }

  public func draw() throws(ServiceError) -> Secret {
    let folder: String
    // The name is a hash: a user's name never becomes part of a path.
    let name = Digest.hexadecimal(Digest.sha256(Array(user.text.utf8)))
    do { folder = try run.folder("attempts/codes/" + name) } catch { throw .codesNotKept }
    for _ in 0..<Self.greatestDrawCount {
      guard let code = AskedApproval.drawCode() else { throw .noRandomness }
      if try take(folder + "/" + code.exposedValue) { return code }
    }
    throw .codesNotKept
  }

  /// Takes a code; false if it is in use. The files stay as long as the folder.
  private func take(_ path: String) throws(ServiceError) -> Bool {
    let descriptor = iampass_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw .codesNotKept }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
      locks.append(descriptor)
      return true
    }
    let failure = errno
    close(descriptor)
    guard failure == EWOULDBLOCK else { throw .codesNotKept }
    return false
  }
}
