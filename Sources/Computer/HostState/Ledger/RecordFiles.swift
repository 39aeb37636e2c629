import Glibc
import HostSystem

/// A folder of `/run/iampass` with one file for each record's id. Only root can read the files.
struct RecordFiles: Sendable {
  /// In bytes; a larger file is refused.
  private static let greatestSize = 4_096

  let run: RunFolder
  let name: String

  /// Names of all files that may belong to a record, in no order. Removes files that killed writers have left.
  func ids() throws(LedgerError) -> [String] {
    do throws(FileError) {
      let folder = try run.folder(name)
      let names = try FolderListing.names(in: folder)
      UnfinishedFiles.removeOld(of: names, in: folder)
      return names.filter(FileID.isValid)
    } catch { throw .file(error) }
  }

  /// Nil if the file is missing.
  func read(_ id: String) throws(LedgerError) -> [UInt8]? {
    let path = try path(id)
    do { return try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch
      where error.code == .missing
    { return nil } catch { throw .file(error) }
  }

  func write(_ bytes: [UInt8], for id: String) throws(LedgerError) {
    let path = try path(id)
    do { try AtomicFile.write(bytes, to: path, mode: 0o600) } catch { throw .file(error) }
  }

  /// Removes a file and returns its contents; nil if it is missing, or if another process has removed it meanwhile.
  func take(_ id: String) throws(LedgerError) -> [UInt8]? {
    guard let bytes = try read(id) else { return nil }
    let path = try path(id)
    if unlink(path) == 0 { return bytes }
    guard errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
    return nil
  }

  /// Removes a file. It is not an error if the file is missing.
  func remove(_ id: String) throws(LedgerError) {
    let path = try path(id)
    guard unlink(path) == 0 || errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
  }

  private func path(_ id: String) throws(LedgerError) -> String {
    guard FileID.isValid(id) else { throw .badID }
    do { return try run.folder(name) + "/" + id } catch { throw .file(error) }
  }
}

/// Files that killed writers have left: ``NewFile`` writes under another name at first.
enum UnfinishedFiles {
  /// The age, in seconds, from which such a file counts as left: a writer takes milliseconds.
  private static let writingTime = 60

  /// - Parameter names: the names in the folder. Only names that begin with a record's id matter.
  static func removeOld(of names: [String], in folder: String) {
    var found = stat()
    for name in names where name.hasSuffix(NewFile.ending) && FileID.isValid(String(name.prefix(32))) {
      let path = folder + "/" + name
      if lstat(path, &found) == 0, time(nil) - found.st_mtim.tv_sec > writingTime { unlink(path) }
    }
  }
}
