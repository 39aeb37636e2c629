import ArgumentParser
import CommandSupport
import Glibc
import HostSystem

/// The files of the packaged service. Tests have others.
struct SetupPlaces: ParsableArguments {
  /// Bytes; the packaged file has a thousand.
  private static let greatestSettings = 65_536
  static let usualUnit = "iampass-server"

  @Option(help: .hidden, completion: .directory) var folder = "/etc/iampass-server"
  @Option(help: .hidden, completion: .file()) var settings = "/etc/default/iampass-server"
  @Option(help: .hidden, completion: .directory) var data = "/var/lib/iampass-server"
  @Option(help: .hidden) var user = "_iampass-server"
  @Option(help: .hidden) var unit = Self.usualUnit
  @Option(help: .hidden, completion: .directory) var letsencrypt = "/etc/letsencrypt"

  /// The service's user and group.
  func account() throws(CommandProblem) -> (user: uid_t, group: gid_t) {
    guard let entry = getpwnam(user)?.pointee else { throw .noServiceUser(user) }
    return (entry.pw_uid, entry.pw_gid)
  }

  func setupFolder() throws(CommandProblem) -> SetupFolder { SetupFolder(path: folder, group: try account().group) }

  /// Held while the object lives: two setups, or a setup and a renewal, would undo each other's work.
  func lock() throws(CommandProblem) -> EditorLock {
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw CommandProblem(FileError(.system(errno), path: folder))
    }
    do { return try EditorLock(of: folder + "/setup") } catch {
      if case .system(EWOULDBLOCK) = error.code { throw .otherSetup }
      throw CommandProblem(error)
    }
  }

  /// Empty settings if there is no file: the unit has its own.
  func readSettings() throws(CommandProblem) -> ServiceSettings {
    ServiceSettings(String(decoding: try settingsBytes() ?? [], as: UTF8.self))
  }

  /// The settings' file; nil if there is no file.
  func settingsBytes() throws(CommandProblem) -> [UInt8]? {
    do { return try SecureFile.read(settings, privacy: .readableByAll, limit: Self.greatestSettings) } catch {
      guard error.code == .missing else { throw CommandProblem(error) }
      return nil
    }
  }

  /// - Parameter bytes: of ``settingsBytes()``.
  func restore(_ bytes: [UInt8]?) throws(CommandProblem) {
    guard let bytes else {
      guard unlink(settings) == 0 || errno == ENOENT else {
        throw CommandProblem(FileError(.system(errno), path: settings))
      }
      return
    }
    do { try AtomicFile.write(bytes, to: settings, mode: 0o644) } catch { throw CommandProblem(error) }
  }

  func write(_ new: ServiceSettings) throws(CommandProblem) {
    do { try AtomicFile.write(Array(new.text.utf8), to: settings, mode: 0o644) } catch { throw CommandProblem(error) }
  }

  /// The data directory, made for the service if it is missing: the unit makes it only at its first start.
  func makeData() throws(CommandProblem) {
    let (user, group) = try account()
    var found = stat()
    guard lstat(data, &found) != 0 else { return }
    // It has its name once it is the service's: a setup that is killed must not leave root's folder there, in which all
    // that follows would be root's.
    let new = data + ".new"
    rmdir(new)
    guard mkdir(new, 0o700) == 0, chown(new, user, group) == 0, rename(new, data) == 0 else {
      throw CommandProblem(FileError(.system(errno), path: data))
    }
  }
}
