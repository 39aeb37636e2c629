import CHost
import Foundation
import Glibc

/// A program with pipes to its input and from its output. It ends with this object.
///
/// Not Foundation's Process. With many open files it reads past the end of a folder's list, sometimes past mapped
/// memory (swift-corelibs-foundation of Swift 6.3).
final class Companion {
  let process: pid_t
  /// The program's input ends with this process.
  private let input: FileHandle
  private let output: FileHandle
  private var hasEnded = false

  init(_ words: [String]) throws {
    var toIt: [Int32] = [-1, -1]
    var fromIt: [Int32] = [-1, -1]
    guard pipe(&toIt) == 0, pipe(&fromIt) == 0 else { throw POSIXError(.EMFILE) }
    for end in toIt + fromIt { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    input = FileHandle(fileDescriptor: toIt[1], closeOnDealloc: true)
    output = FileHandle(fileDescriptor: fromIt[0], closeOnDealloc: true)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, toIt[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromIt[1], 1)
    _ = iampass_spawn_closefrom(&actions, 3)
    var arguments = words.map { strdup($0) } + [nil]
    var made: pid_t = 0
    let failure = posix_spawn(&made, words[0], &actions, nil, &arguments, environ)
    for word in arguments { free(word) }
    posix_spawn_file_actions_destroy(&actions)
    close(toIt[0])
    close(fromIt[1])
    guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT) }
    process = made
  }

  deinit { stop() }

  func stop() {
    guard !hasEnded else { return }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    hasEnded = true
  }

  var isRunning: Bool {
    if !hasEnded { hasEnded = waitpid(process, nil, WNOHANG) != 0 }
    return !hasEnded
  }

  /// The first line of its output, without the newline.
  func line() -> String {
    String(decoding: output.availableData, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  /// All output, after the program ended because its input ended.
  func rest() -> String {
    for _ in 0..<1_000 where isRunning { usleep(20_000) }
    stop()
    return String(decoding: output.readDataToEndOfFile(), as: UTF8.self).trimmingCharacters(in: .newlines)
  }
}
