import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// The terminals that a session's processes run on. logind's own `TTY` is empty for ssh on Debian 13.
public struct SessionTerminals: Sendable {
  private let proc: String
  private let devices: String

  public init(proc: String = "/proc", devices: String = "/dev") {
    self.proc = proc
    self.devices = devices
  }

  /// Writes one line to each terminal of these processes that belongs to their user. A terminal that is full or stopped
  /// by Ctrl-S is skipped.
  ///
  /// - Returns: the terminals that took it.
  @discardableResult
  public func tell(_ line: String, to processes: [Int32], of uid: UInt32) -> [String] {
    // CR LF begins a new line even if a program has switched off the translation of LF.
    let text = Array("\r\n\(DisplayText.sanitized(line))\r\n".utf8)
    return Set(processes.compactMap(terminal)).compactMap { number in
      guard let name = Self.name(of: number) else { return nil }
      let path = devices + "/" + name
      return write(text, to: path, number: number, of: uid) ? path : nil
    }.sorted()
  }

  /// Whether the process has a controlling terminal.
  func has(_ process: Int32) -> Bool { terminal(of: process) != nil }

  /// Device number of the controlling terminal (proc(5), field 7 of `/proc/PID/stat`).
  private func terminal(of process: Int32) -> UInt32? {
    guard let bytes = ProcessFile.read("\(proc)/\(process)/stat", limit: 4_096),
      // The name in parentheses may contain spaces and parentheses.
      let nameEnd = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(nameEnd + 1)...].split(separator: UInt8(ascii: " "))
    // After the name comes field 3. The kernel prints the number as a signed one.
    guard fields.count > 4, let number = Int32(String(decoding: fields[4], as: UTF8.self)), number != 0 else {
      return nil
    }
    return UInt32(bitPattern: number)
  }

  /// The terminal's name below `/dev`, by the kernel's devices.txt; nil for other kinds of terminal.
  static func name(of number: UInt32) -> String? {
    let major = number >> 8 & 0xFFF
    let minor = number & 0xFF | number >> 12 & 0xFFF00
    switch (major, minor) {
    // devices.txt gives eight majors of 256 terminals each; today's kernels put them all into the first.
    case (136...143, _): return "pts/\((major - 136) << 8 + minor)"
    case (4, 1...63): return "tty\(minor)"
    case (4, 64...255): return "ttyS\(minor - 64)"
    default: return nil
    }
  }

  /// A process in a container has its terminal in the container's /dev. Our /dev may have another user's terminal of
  /// that number, so the owner is checked.
  private func write(_ text: [UInt8], to path: String, number: UInt32, of uid: UInt32) -> Bool {
    let descriptor = iampass_open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFCHR, found.st_uid == uid,
      // Field 7 and stat(2) pack major and minor in the same way.
      found.st_rdev == UInt(number)
    else { return false }
    // SAFETY: the pointer and count are the array's own. What does not fit is left out.
    return text.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, $0.count) } > 0
  }
}
