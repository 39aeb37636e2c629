import CommandSupport
import Glibc
import HostSystem

/// The files of a setup's folder as they were before it, to be put back.
struct KeptFiles {
  struct File {
    let path: String
    let mode: UInt32
    let isForService: Bool
    /// Nil: it was not there.
    let bytes: [UInt8]?
  }

  let files: [File]
}

extension SetupFolder {
  /// In the order in which they are put back: if that is broken off, the next authority is there, and a change of
  /// authority begins from the start.
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
      // Between two keys there is no certificate, as in a change.
      if file.path == authorityKey { unlink(authority) }
      try Self.write(bytes, to: file.path, mode: file.mode, group: file.isForService ? group : nil)
    }
  }
}
