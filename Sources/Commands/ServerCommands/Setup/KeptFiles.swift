import CommandSupport
import Glibc
import HostSystem

/// The files of a setup's folder before the setup, to be restored.
struct KeptFiles {
  struct File {
    let path: String
    let mode: UInt32
    let isForService: Bool
    /// The file's bytes; nil if it did not exist.
    let bytes: [UInt8]?
  }

  let files: [File]
}

extension SetupFolder {
  /// Reads the files, in the order in which they are restored. If that is interrupted, the next authority is there, and
  /// a change of authority begins from the start.
  func keep() throws(CommandProblem) -> KeptFiles {
    let kinds: [(path: String, mode: UInt32, isForService: Bool)] = [
      (nextAuthorityKey, 0o600, false), (nextAuthorityFile, 0o644, false), (changeNote, 0o644, false),
      (authorityKey, 0o600, false), (authority, 0o644, false), (ownPair, 0o640, true), (certbotPair, 0o640, true),
    ]
    var files: [KeptFiles.File] = []
    for (path, mode, isForService) in kinds {
      let bytes = try present(path, mode == 0o600 ? .secret : .readableByAll)
      files.append(KeptFiles.File(path: path, mode: mode, isForService: isForService, bytes: bytes))
    }
    return KeptFiles(files: files)
  }

  func restore(_ kept: KeptFiles) throws(CommandProblem) {
    for file in kept.files where try present(file.path, file.mode == 0o600 ? .secret : .readableByAll) != file.bytes {
      guard let bytes = file.bytes else {
        guard unlink(file.path) == 0 else { throw CommandProblem(FileError(.system(errno), path: file.path)) }
        continue
      }
      // As in a change, there is no certificate while the key is replaced.
      if file.path == authorityKey { unlink(authority) }
      try Self.write(bytes, to: file.path, mode: file.mode, group: file.isForService ? group : nil)
    }
  }
}
