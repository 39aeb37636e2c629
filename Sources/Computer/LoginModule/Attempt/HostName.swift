import Glibc

/// What this computer calls itself (gethostname(2)).
enum HostName {
  /// Nil if the kernel does not tell.
  static func current() -> String? {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
