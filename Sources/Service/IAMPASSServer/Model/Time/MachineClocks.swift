import Glibc

/// The clocks of the computer with the storage.
public struct MachineClocks: Sendable {
  /// The name of the time from one boot of the computer to the next; nil if the kernel does not give one.
  let bootID: @Sendable () -> String?
  /// Milliseconds since the boot, suspended or not. This clock cannot be set, unless ``mayStep`` says so.
  let sinceBoot: @Sendable () -> Int64
  /// Unix time, which people and the network can set.
  let wall: @Sendable () -> UnixTime
  /// Whether `sinceBoot` is a database's wall clock, which can be set forward and back. Several servers share it.
  let mayStep: Bool

  init(
    bootID: @escaping @Sendable () -> String?, sinceBoot: @escaping @Sendable () -> Int64,
    wall: @escaping @Sendable () -> UnixTime, mayStep: Bool = false
  ) {
    self.bootID = bootID
    self.sinceBoot = sinceBoot
    self.wall = wall
    self.mayStep = mayStep
  }

  public static let system = MachineClocks(bootID: kernelsBootID, sinceBoot: bootTime, wall: UnixTime.now)

  @Sendable private static func bootTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  @Sendable private static func kernelsBootID() -> String? {
    guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    let text = String(decoding: line.map(UInt8.init(bitPattern:)).prefix { $0 > 0x20 }, as: UTF8.self)
    return text.utf8.count == 36 ? text : nil
  }
}
