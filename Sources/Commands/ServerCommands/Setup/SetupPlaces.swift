import ArgumentParser
import CommandSupport
import Glibc
import HostSystem

/// The paths of the packaged service. Tests set others.
struct SetupPlaces: ParsableArguments {
  /// The greatest size of the settings in bytes. The packaged file has a thousand.
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

  /// A lock, held while the object lives: two setups, or a setup and a renewal, would undo each other's work.
  func lock() throws(CommandProblem) -> EditorLock {
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw CommandProblem(FileError(.system(errno), path: folder))
    }
    do { return try EditorLock(of: folder + "/setup") } catch {
      if case .system(EWOULDBLOCK) = error.code { throw .otherSetup }
      throw CommandProblem(error)
    }
  }

  /// The settings; empty if there is no file, because the unit has its own.
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

  /// - Parameter bytes: the result of ``settingsBytes()``.
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

  /// Makes the data folder for the service if it is missing: the unit makes it only at its first start.
  func makeData() throws(CommandProblem) {
    let (user, group) = try account()
    var found = stat()
    guard lstat(data, &found) != 0 else { return }
    // The folder gets its name only once it belongs to the service: a killed setup must not leave a folder of root, in
    // which new files would belong to root.
    let new = data + ".new"
    rmdir(new)
    guard mkdir(new, 0o700) == 0, chown(new, user, group) == 0, rename(new, data) == 0 else {
      throw CommandProblem(FileError(.system(errno), path: data))
    }
  }
}
