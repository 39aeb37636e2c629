import CHost
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The requests by which sign-ins ask one user's phones now: `/run/iampass/requests`, a folder for each user.
///
/// A program can be killed while it shows the match code, as sshd kills its PAM process once the client has gone. Its
/// module then withdraws nothing, and the request would stay open for its time. The user's next sign-in withdraws it.
public struct RequestNotes: Sendable {
  /// In one user's folder. A user has 20 open requests at most.
  private static let greatestCount = 64
  /// Dead requests that one sign-in looks at.
  private static let mostAtOnce = 32
  /// Seconds after which nobody fills an empty note.
  private static let writingTime = 60
  private static let greatestSize = 4_096

  private let run: RunFolder
  /// A user's name never becomes part of a path.
  private let name: String

  public init(run: RunFolder, user: UnixUsername) {
    self.run = run
    name = "requests/" + Digest.hexadecimal(Digest.sha256(Array(user.text.utf8)))
  }

  /// Writes down a request of this process's, which counts as asked until the note is removed or the process ends.
  ///
  /// - Parameter end: seconds since 1970 at which the service ends it by itself.
  public func note(_ session: RemoteSession, end: Int64) throws(FileError) -> RequestNote {
    let folder = try run.folder(name)
    try BoundedFolder.makeRoom(in: folder, greatestCount: Self.greatestCount) { _ in false }
    guard let id = Digest.randomIdentifier() else { throw FileError(.system(EAGAIN), path: folder) }
    // Nobody compares the origin: these notes are read on this computer alone.
    let origin = OpenSession.Origin.current() ?? OpenSession.Origin(machine: "", boot: "")
    let request = OpenSession(session, id: id, origin: origin, end: end)
    let path = folder + "/" + id
    let made = iampass_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard made >= 0 else { throw FileError(.system(errno), path: path) }
    defer { close(made) }
    // A host with stdin, stdout or stderr closed would find the note there while it asks its user.
    let descriptor = iampass_duplicate_above(made, 10)
    guard descriptor >= 0 else {
      let failure = errno
      unlink(path)
      throw FileError(.system(failure), path: path)
    }
    let note = RequestNote(request, path: path, descriptor: descriptor)
    // Locked before anything stands in it: to others a note is empty, or its process's.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw FileError(.system(errno), path: path) }
    // The host's umask is not ours to rely on.
    guard fchmod(descriptor, 0o600) == 0 else { throw FileError(.system(errno), path: path) }
    do throws(FileError) { try AtomicFile.writeAll(request.encoded(), to: descriptor, path: path) } catch {
      try? note.remove()
      throw error
    }
    return note
  }

  /// Requests whose process has ended. Each is held as long as its note is, so that no other sign-in withdraws it too.
  ///
  /// Notes that are over by themselves, or were never whole, are removed.
  ///
  /// - Parameter now: seconds since 1970.
  public func leftOver(now: Int64) throws(FileError) -> [RequestNote] {
    let folder = try run.folder(name)
    let ids = try FolderListing.names(in: folder).filter(SessionLedger.isID)
    return ids.prefix(Self.mostAtOnce).compactMap { Self.dead($0, in: folder, now: now) }
  }

  /// Nil for a request that is asked, and for one that is over.
  private static func dead(_ id: String, in folder: String, now: Int64) -> RequestNote? {
    let path = folder + "/" + id
    let descriptor = iampass_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return nil }
    var found = stat()
    // A note without a name was removed while it was opened: its request was answered.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &found) == 0, found.st_nlink == 1 else {
      close(descriptor)
      return nil
    }
    let bytes = try? SecureFile.read(path, privacy: .secret, limit: greatestSize)
    guard let request = bytes.flatMap(OpenSession.init(parsing:)), request.id == id, now < request.end else {
      // Its process may be about to lock it.
      if found.st_size > 0 || now - Int64(found.st_mtim.tv_sec) > Int64(writingTime) { unlink(path) }
      close(descriptor)
      return nil
    }
    return RequestNote(request, path: path, descriptor: descriptor)
  }
}

/// One request in a file of its own, locked as long as this object lives.
///
/// The lock ends with the process, however that ends. No process number is looked at, which would mean nothing to a
/// program in another pid namespace.
public final class RequestNote {
  public let request: OpenSession
  private let path: String
  private let descriptor: Int32
  /// A child that the host forks meanwhile has this object and the lock, too, and must take neither away.
  private let owner = getpid()

  fileprivate init(_ request: OpenSession, path: String, descriptor: Int32) {
    self.request = request
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    // Before closing: a child may have the descriptor, and with it the lock.
    if owner == getpid() { flock(descriptor, LOCK_UN) }
    close(descriptor)
  }

  /// From now on nobody withdraws the request.
  ///
  /// - Throws: if the file has neither lost its content nor its name, and in a child of the process that asks.
  public func remove() throws(FileError) {
    guard owner == getpid() else { throw FileError(.system(EPERM), path: path) }
    let isEmpty = ftruncate(descriptor, 0) == 0
    guard unlink(path) == 0 || errno == ENOENT || isEmpty else { throw FileError(.system(errno), path: path) }
  }
}
