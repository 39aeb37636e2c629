import CHost
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The requests that sign-ins have sent to one user's phones: `/run/iampass/requests`, a folder for each user.
///
/// A program can be killed while it shows the match code: sshd kills its PAM process once the client has gone. Its
/// module then cannot withdraw the request, which would stay open until its time is over. The user's next sign-in
/// withdraws it.
public struct RequestNotes: Sendable {
  /// The most notes in one user's folder. A user has 20 open requests at most.
  private static let greatestCount = 64
  /// The most dead requests that one sign-in withdraws.
  private static let mostAtOnce = 32
  /// The age, in seconds, from which an empty note counts as left.
  private static let writingTime: Int64 = 60
  private static let greatestSize = 4_096

  private let run: RunFolder
  /// The folder's name. A user's name never becomes part of a path.
  private let name: String
  private let now: @Sendable () -> Int64

  /// - Parameter now: seconds after boot. The wall clock may be set while a request is open, and notes do not outlive a
  ///   boot.
  public init(run: RunFolder, user: UnixUsername, now: @escaping @Sendable () -> Int64 = BootTime.seconds) {
    self.run = run
    self.now = now
    name = "requests/" + Digest.hexadecimal(Digest.sha256(Array(user.text.utf8)))
  }

  /// Notes a request of this process. It counts as under way until the note is removed or the process ends.
  ///
  /// - Parameter seconds: seconds until the service ends the request by itself.
  public func note(_ session: RemoteSession, seconds: Int64) throws(FileError) -> RequestNote {
    let folder = try run.folder(name)
    try BoundedFolder.makeRoom(in: folder, greatestCount: Self.greatestCount) { _ in false }
    guard let id = Digest.randomIdentifier() else { throw FileError(.system(EAGAIN), path: folder) }
    // The origin is not compared: these notes are read only on this computer.
    let origin = OpenSession.Origin.current() ?? OpenSession.Origin(machine: "", boot: "")
    let request = OpenSession(session, id: id, origin: origin, end: now() + seconds)
    let path = folder + "/" + id
    let made = iampass_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard made >= 0 else { throw FileError(.system(errno), path: path) }
    defer { close(made) }
    // In a host that has closed stdin, stdout or stderr, the note's descriptor must not take their place.
    let descriptor = iampass_duplicate_above(made, 10)
    guard descriptor >= 0 else {
      let failure = errno
      unlink(path)
      throw FileError(.system(failure), path: path)
    }
    let note = RequestNote(request, path: path, descriptor: descriptor)
    // The note is locked before it is written. So others see an empty note or a locked one.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw FileError(.system(errno), path: path) }
    // The host's umask may be any.
    guard fchmod(descriptor, 0o600) == 0 else { throw FileError(.system(errno), path: path) }
    do throws(FileError) { try AtomicFile.writeAll(request.encoded(), to: descriptor, path: path) } catch {
      try? note.remove()
      throw error
    }
    return note
  }

  /// Requests whose process has ended. Each returned note stays locked as long as its object, so that no other sign-in
  /// withdraws the request too.
  ///
  /// Notes of requests whose time is over, and incomplete notes, are removed. A note of an earlier version, whose end
  /// counts from 1970, is open until it is withdrawn.
  public func leftOver() throws(FileError) -> [RequestNote] {
    let folder = try run.folder(name)
    let now = now()
    let ids = try FolderListing.names(in: folder).filter(FileID.isValid)
    return ids.prefix(Self.mostAtOnce).compactMap { Self.dead($0, in: folder, now: now) }
  }

  /// Nil for a request that is under way or over.
  private static func dead(_ id: String, in folder: String, now: Int64) -> RequestNote? {
    let path = folder + "/" + id
    let descriptor = iampass_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return nil }
    var found = stat()
    // A note without a link was removed while it was opened: its request was answered.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &found) == 0, found.st_nlink == 1 else {
      close(descriptor)
      return nil
    }
    let bytes = try? SecureFile.read(path, privacy: .secret, limit: greatestSize)
    guard let request = bytes.flatMap(OpenSession.init(parsing:)), request.id == id, now < request.end else {
      // The note's process may be about to lock it. A file's own time goes by the wall clock, which may have been set.
      let age = Int64(time(nil)) - Int64(found.st_mtim.tv_sec)
      if found.st_size > 0 || !(0...writingTime).contains(age) { unlink(path) }
      close(descriptor)
      return nil
    }
    return RequestNote(request, path: path, descriptor: descriptor)
  }
}

/// One request in its own file, locked as long as this object lives.
///
/// The lock ends with the process, however the process ends. Process numbers are not used: they mean nothing in another
/// pid namespace.
public final class RequestNote {
  public let request: OpenSession
  private let path: String
  private let descriptor: Int32
  /// A child that the host forks meanwhile also has this object and the lock. It must not remove them.
  private let owner = getpid()

  fileprivate init(_ request: OpenSession, path: String, descriptor: Int32) {
    self.request = request
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    // This comes before the close: a child may have the descriptor, and with it the lock.
    if owner == getpid() { flock(descriptor, LOCK_UN) }
    close(descriptor)
  }

  /// Removes the note, so that no other sign-in withdraws the request.
  ///
  /// - Throws: if the file kept both its contents and its name, and in a child of the process that made the note.
  public func remove() throws(FileError) {
    guard owner == getpid() else { throw FileError(.system(EPERM), path: path) }
    let isEmpty = ftruncate(descriptor, 0) == 0
    guard unlink(path) == 0 || errno == ENOENT || isEmpty else { throw FileError(.system(errno), path: path) }
  }
}
