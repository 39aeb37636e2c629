import CHost
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The match codes of a user's requests on this computer. Two open requests do not have the same code.
///
/// A code is an empty file that the request's process has locked. The lock ends with this object or with the process. A
/// request whose process has ended cannot sign a user in. No lock counts for long: a user can stop a process such as `su`
/// that asks for another user, and it would hold its code for ever. So a file's name has the code and the period in which
/// it was drawn, and codes of the present period and of the one before are in use.
public final class OpenMatchCodes: MatchCodes {
  /// There are a hundred codes. If one is left, this many draws miss it in less than two of a hundred cases.
  private static let greatestDrawCount = 400
  /// Seconds, by the clock that goes on while the computer sleeps. No request lasts as long: it waits for
  /// ``ApprovalTimeout/bounds`` at most after its start.
  static let period: Int64 = 180

  private let run: RunFolder
  private let user: UnixUsername
  private let now: () -> Int64
  private var locks: [Int32] = []

  /// - Parameter now: seconds after boot.
  public init(run: RunFolder, user: UnixUsername, now: @escaping () -> Int64 = BootTime.seconds) {
    self.run = run
    self.user = user
    self.now = now
  }

  deinit { for lock in locks { Self.release(lock) } }

  public func draw() throws(ServiceError) -> Secret {
    let folder: String
    // The name is a hash: a user's name never becomes part of a path.
    let name = Digest.hexadecimal(Digest.sha256(Array(user.text.utf8)))
    do { folder = try run.folder("attempts/codes/" + name) } catch { throw .codesNotKept }
    removeOld(in: folder)
    for _ in 0..<Self.greatestDrawCount {
      guard let code = AskedApproval.drawCode() else { throw .noRandomness }
      let period = now() / Self.period
      let path = folder + "/" + code.exposedValue + "."
      // The earlier one's file is not made: whoever drew in that period has made it.
      if let earlier = try open(path + String(period - 1), 0) {
        guard try lock(earlier) else { continue }
        Self.release(earlier)
      }
      guard let own = try open(path + String(period), O_CREAT), try lock(own) else { continue }
      // Another one that draws in the next period has not seen a lock that came so late.
      guard now() / Self.period == period else {
        Self.release(own)
        continue
      }
      locks.append(own)
      return code
    }
    throw .codesNotKept
  }

  /// - Returns: nil if there is no such file.
  private func open(_ path: String, _ flags: Int32) throws(ServiceError) -> Int32? {
    let made = iampass_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0o600)
    guard made >= 0 else {
      guard errno == ENOENT, flags & O_CREAT == 0 else { throw .codesNotKept }
      return nil
    }
    defer { close(made) }
    // In a host that has closed stdin, stdout or stderr, the lock's descriptor must not take their place.
    let descriptor = iampass_duplicate_above(made, 10)
    guard descriptor >= 0 else { throw .codesNotKept }
    return descriptor
  }

  /// Locks the file, or closes it; false if another one has locked it.
  private func lock(_ descriptor: Int32) throws(ServiceError) -> Bool {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return true }
    let failure = errno
    close(descriptor)
    guard failure == EWOULDBLOCK else { throw .codesNotKept }
    return false
  }

  private static func release(_ lock: Int32) {
    // This comes before the close: a child may have the descriptor, and with it the lock.
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// Removes the files of periods that count no more. One that stays does no harm.
  private func removeOld(in folder: String) {
    let earliest = now() / Self.period - 1
    for name in (try? FolderListing.names(in: folder)) ?? [] where name != "." && name != ".." {
      let period = name.split(separator: ".").dropFirst().first.flatMap { Int64($0) }
      if period.map({ $0 < earliest }) ?? true { unlink(folder + "/" + name) }
    }
  }
}
