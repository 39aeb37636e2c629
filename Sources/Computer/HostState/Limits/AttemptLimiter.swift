import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// The origin of a request. Each origin is counted separately, so that strangers' requests do not use up the user's
/// own.
public enum AttemptSource: Sendable, Equatable {
  /// The user's own sudo.
  case own
  case remoteHost(String)
  /// A local user other than root, by uid, who started the program.
  case caller(uid: UInt32)
  /// A program that root runs, by PAM service. It is not known who started it, as at a greeter.
  case program(service: String)
  /// A host that asks for a name that the system does not know. There is no bound on such names.
  case unknownName(String)
  /// All remote hosts together. They are counted separately for names that the system does not know.
  case everyHost(isKnownName: Bool)

  /// The source that counts this one together with all other remote hosts; nil for a source at this computer.
  public var allRemote: AttemptSource? {
    switch self {
    case .own, .caller, .program, .everyHost: nil
    case .remoteHost: .everyHost(isKnownName: true)
    // A local service with an unknown user has no host.
    case .unknownName(let host): host.isEmpty ? nil : .everyHost(isKnownName: false)
    }
  }

  var folder: String {
    switch self {
    case .own: "own"
    case .remoteHost: "remote"
    case .caller: "local"
    case .program: "program"
    case .unknownName: "unknown"
    case .everyHost(true): "every"
    case .everyHost(false): "every-unknown"
    }
  }

  var detail: String {
    switch self {
    case .own, .everyHost: ""
    case .remoteHost(let host), .unknownName(let host): NetworkOfHost.name(host)
    case .caller(let uid): String(uid)
    case .program(let service): service
    }
  }

  /// Whether the oldest counts may be forgotten, because these requests cannot sign a user in.
  var makesRoom: Bool {
    switch self {
    case .own, .remoteHost, .caller, .program, .everyHost(true): false
    case .unknownName, .everyHost(false): true
    }
  }
}

/// Counts addresses that one person can easily use as one source: all of loopback, and an IPv6 network of 64 bits.
enum NetworkOfHost {
  /// How an IPv4 address is written as an IPv6 one: `::ffff:192.0.2.1` (RFC 4291, 2.5.5.2).
  private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]

  static func name(_ host: String) -> String {
    var four = in_addr()
    if inet_pton(AF_INET, host, &four) == 1 { return name(ofIPv4: withUnsafeBytes(of: &four) { Array($0) }) }
    var six = in6_addr()
    // A link-local address ends with its interface: `fe80::1%eth0`.
    guard inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &six) == 1 else { return host }
    let bytes = withUnsafeBytes(of: &six) { Array($0) }
    if bytes == [UInt8](repeating: 0, count: 15) + [1] { return "loopback" }
    if bytes.starts(with: mappedPrefix) { return name(ofIPv4: Array(bytes.suffix(4))) }
    return Digest.hexadecimal(Array(bytes.prefix(8))) + "/64"
  }

  private static func name(ofIPv4 bytes: [UInt8]) -> String {
    bytes[0] == 127 ? "loopback" : bytes.map { String($0) }.joined(separator: ".")
  }
}

/// Why no request may be sent.
public enum AttemptRefusal: Error, Sendable, Equatable {
  /// Too many requests. The next one is admitted after this many seconds, at least one.
  case tooMany(secondsLeft: Int64)
  /// There are more sources than are kept, or a file cannot be used. A request that cannot be counted is not sent.
  case broken(FileError)
}

/// Counts unanswered and denied requests by user and source.
public struct AttemptLimiter: Sendable {
  /// The most sources in each folder. The oldest ones that no longer count make room.
  static let greatestFileCount = 4_096
  private static let greatestFileSize = 1_024
  /// The most times that are kept of one source. It is more than any limit counts.
  private static let greatestKept = 64
  private static let greatestReopenCount = 100

  private let run: RunFolder
  private let greatestCount: Int
  private let window: Int64
  /// How long times are kept, in seconds: other limits on the same source may count for longer.
  private let memory: Int64
  private let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - window: the time in which requests count, in seconds.
  ///   - longest: the longest window, in seconds, in which any limit counts these times.
  ///   - now: seconds after boot.
  public init(
    run: RunFolder, greatestCount: Int, window: Int64, remembering longest: Int64 = CodeTries.window,
    now: @escaping @Sendable () -> Int64 = BootTime.seconds
  ) {
    self.run = run
    self.greatestCount = greatestCount
    self.window = window
    memory = max(window, CodeTries.window, longest)
    self.now = now
  }

  /// Counts one request before it is sent, so that concurrent requests count each other.
  public func admit(_ user: UnixUsername, from source: AttemptSource) throws(AttemptRefusal) {
    let now = now()
    var secondsLeft: Int64 = 0
    let admitted = try update(user, source) { times in
      let counting = times.filter { $0 > now - window }.sorted()
      guard counting.count < greatestCount else {
        // Once this time no longer counts, fewer than the limit are left. A damaged file may have any time.
        secondsLeft = max(1, min(counting[counting.count - greatestCount], now) + window - now)
        return false
      }
      times.append(now)
      return true
    }
    guard admitted else { throw .tooMany(secondsLeft: secondsLeft) }
  }

  /// Removes the newest request from the count, because it was approved.
  public func forgive(_ user: UnixUsername, from source: AttemptSource) throws(AttemptRefusal) {
    _ = try update(user, source) { times in
      _ = times.popLast()
      return true
    }
  }

  private func update(
    _ user: UnixUsername, _ source: AttemptSource, _ change: (inout [Int64]) -> Bool
  ) throws(AttemptRefusal) -> Bool {
    do throws(FileError) {
      let path = try file(user, source)
      let descriptor = try openLocked(path)
      defer { close(descriptor) }
      let size = try SecureFile.check(descriptor, path: path, privacy: .secret, limit: Self.greatestFileSize)
      let bytes = try SecureFile.readAll(descriptor, path: path, expecting: size, limit: Self.greatestFileSize)
      guard var times = stillCounting(bytes) else {
        // The file is damaged. It begins again with the limit used up.
        let full = [Int64](repeating: now(), count: Self.greatestKept)
        try store(full, in: descriptor, path: path, oldSize: size)
        throw FileError(.system(EBADMSG), path: path)
      }
      if !times.isEmpty, let lifted = LiftedAttempts(run: run, now: now).time(of: user) {
        times.removeAll { $0 <= lifted }
      }
      guard change(&times) else { return false }
      try store(times, in: descriptor, path: path, oldSize: size)
      // An empty file makes room for another source.
      if times.isEmpty { unlink(path) }
      return true
    } catch { throw .broken(error) }
  }

  /// Opens and locks the file. It must still be at the path, because another process may have removed it meanwhile.
  private func openLocked(_ path: String) throws(FileError) -> Int32 {
    for _ in 0..<Self.greatestReopenCount {
      let descriptor = iampass_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
      guard descriptor >= 0 else { throw SecureFile.openError(path) }
      do { try FileLock.take(descriptor, path: path) } catch {
        close(descriptor)
        throw error
      }
      var opened = stat()
      var named = stat()
      if fstat(descriptor, &opened) == 0, lstat(path, &named) == 0, opened.st_ino == named.st_ino { return descriptor }
      close(descriptor)
    }
    throw FileError(.system(EBUSY), path: path)
  }

  /// The times that still count; nil if a line is not a number.
  private func stillCounting(_ bytes: [UInt8]) -> [Int64]? {
    let limit = now() - memory
    var times: [Int64] = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let time = Int64(String(decoding: line, as: UTF8.self).drop { $0 == " " }) else { return nil }
      if time > limit { times.append(time) }
    }
    return times
  }

  /// Writes in place, padded to the old size, so that a full /run does not lose counted times.
  private func store(_ times: [Int64], in descriptor: Int32, path: String, oldSize: Int) throws(FileError) {
    var text = times.suffix(Self.greatestKept).flatMap { Array("\($0)\n".utf8) }
    let length = text.count
    text += [UInt8](repeating: UInt8(ascii: "\n"), count: max(0, oldSize - length))
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw FileError(.system(errno), path: path) }
    try AtomicFile.writeAll(text, to: descriptor, path: path)
    guard ftruncate(descriptor, length) == 0 else { throw FileError(.system(errno), path: path) }
    BoundedFolder.stamp(path)
  }

  private func file(_ user: UnixUsername, _ source: AttemptSource) throws(FileError) -> String {
    let folder = try run.folder("attempts/" + source.folder)
    // The name is a hash: neither a user's nor a host's name ever becomes part of a path.
    let name = Digest.hexadecimal(Digest.sha256(Array((user.text + "\0" + source.detail).utf8)))
    let path = folder + "/" + name
    // access(2) does not serve: it checks the real uid, which in su is the caller's.
    var found = stat()
    if lstat(path, &found) != 0 {
      let count = Self.greatestFileCount
      if source.makesRoom { try BoundedFolder.forgetOldest(in: folder, greatestCount: count) }
      try BoundedFolder.makeRoom(in: folder, greatestCount: count) { age in age > memory }
    }
    return path
  }
}
