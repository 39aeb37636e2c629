import Glibc
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

@Suite struct AttemptLimiterTests {
  private let alice = UnixUsername(validating: "alice")!
  private let bob = UnixUsername(validating: "bob")!

  private func limiter(_ folder: TemporaryFolder, now: Int64 = 1_000) -> AttemptLimiter {
    AttemptLimiter(run: RunFolder(path: folder.path + "/run"), greatestCount: 2, window: 600, now: { now })
  }

  @Test func refusesPastItsNumber() throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .own)
    try limiter(folder).admit(alice, from: .own)
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) { try limiter(folder).admit(alice, from: .own) }
  }

  /// Whoever is refused is told when the next request is possible.
  @Test func saysAfterHowLongOneMoreIsAdmitted() throws {
    let folder = try TemporaryFolder()
    for now: Int64 in [1_000, 1_100] { try limiter(folder, now: now).admit(alice, from: .own) }
    for (now, left): (Int64, Int64) in [(1_100, 500), (1_599, 1)] {
      #expect(throws: AttemptRefusal.tooMany(secondsLeft: left)) {
        try limiter(folder, now: now).admit(alice, from: .own)
      }
    }
    try limiter(folder, now: 1_600).admit(alice, from: .own)
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 99)) {
      try limiter(folder, now: 1_601).admit(alice, from: .own)
    }
  }

  @Test func aTimeThatIsYetToComeCountsAsNow() throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .own)
    let name = try #require(try BoundedFolder.names(in: folder.path + "/run/attempts/own").first)
    try folder.write("run/attempts/own/" + name, "\(Int64.max)\n\(Int64.max)\n")
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) { try limiter(folder).admit(alice, from: .own) }
  }

  @Test func forgetsAfterItsWindow() throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .own)
    try limiter(folder).admit(alice, from: .own)
    try limiter(folder, now: 1_601).admit(alice, from: .own)
  }

  @Test func anApprovedRequestDoesNotCount() throws {
    let folder = try TemporaryFolder()
    for _ in 0..<5 {
      try limiter(folder).admit(alice, from: .own)
      try limiter(folder).forgive(alice, from: .own)
    }
  }

  @Test func whatAnAdministratorLiftsCountsNoMoreFromAnySource() throws {
    let folder = try TemporaryFolder()
    let sources: [AttemptSource] = [.own, .remoteHost("192.0.2.1"), .everyHost(isKnownName: true)]
    for source in sources { for user in [alice, alice, bob, bob] { try limiter(folder).admit(user, from: source) } }
    try LiftedAttempts(run: RunFolder(path: folder.path + "/run"), now: { 1_001 }).lift(alice)
    for source in sources {
      for _ in 0..<2 { try limiter(folder, now: 1_002).admit(alice, from: source) }
      #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) {
        try limiter(folder, now: 1_002).admit(alice, from: source)
      }
      #expect(throws: AttemptRefusal.tooMany(secondsLeft: 598)) {
        try limiter(folder, now: 1_002).admit(bob, from: source)
      }
    }
  }

  /// A time that is not over yet would lift what is still to come.
  @Test(arguments: ["nonsense\n", "", "9999999\n", String(repeating: "1", count: 600)])
  func whatCannotBeReadLiftsNothing(_ text: String) throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 { try limiter(folder).admit(alice, from: .own) }
    try LiftedAttempts(run: RunFolder(path: folder.path + "/run"), now: { 1_001 }).lift(alice)
    let name = try #require(try BoundedFolder.names(in: folder.path + "/run/attempts/lifted").first)
    try folder.write("run/attempts/lifted/" + name, text)
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 598)) {
      try limiter(folder, now: 1_002).admit(alice, from: .own)
    }
  }

  @Test func aStrangersKnockingLeavesTheOwnersWayIn() throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 {
      try limiter(folder).admit(alice, from: .remoteHost("192.0.2.1"))
      try limiter(folder).admit(alice, from: .caller(uid: 1_001))
    }
    try limiter(folder).admit(alice, from: .own)
    try limiter(folder).admit(alice, from: .remoteHost("192.0.2.2"))
    try limiter(folder).admit(bob, from: .remoteHost("192.0.2.1"))
  }

  @Test func programsOfRootCountApart() throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 { try limiter(folder).admit(alice, from: .program(service: "polkit-1")) }
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) {
      try limiter(folder).admit(alice, from: .program(service: "polkit-1"))
    }
    try limiter(folder).admit(alice, from: .program(service: "gdm-password"))
    try limiter(folder).admit(alice, from: .program(service: "login"))
    try limiter(folder).admit(alice, from: .caller(uid: 1_000))
  }

  @Test(arguments: ["nonsense\n", "-\n", String(repeating: "1\n", count: 600)])
  func refusesWhenItsFileIsDamaged(_ text: String) throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .own)
    let names = try BoundedFolder.names(in: folder.path + "/run/attempts/own")
    try folder.write("run/attempts/own/" + (try #require(names.first)), text)
    #expect(throws: AttemptRefusal.self) { try limiter(folder).admit(alice, from: .own) }
  }

  @Test func aDamagedFileBeginsAgainAsUsedUp() throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .own)
    let name = try #require(try BoundedFolder.names(in: folder.path + "/run/attempts/own").first)
    try folder.write("run/attempts/own/" + name, "nonsense\n")
    #expect(throws: AttemptRefusal.self) { try limiter(folder).admit(alice, from: .own) }
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) { try limiter(folder).admit(alice, from: .own) }
    try limiter(folder, now: 1_601).admit(alice, from: .own)
  }

  @Test(arguments: [
    ("127.0.0.1", "127.9.9.9"), ("::1", "127.0.0.1"), ("2001:db8::1", "2001:db8::ffff:1"),
    ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:C000:201", "192.0.2.1"), ("::ffff:127.0.0.1", "::1"),
    ("fe80::1%eth0", "fe80::2%eth1"),
  ])
  func neighboursCountAsOneSource(_ one: String, _ other: String) throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .remoteHost(one))
    try limiter(folder).admit(alice, from: .remoteHost(other))
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) {
      try limiter(folder).admit(alice, from: .remoteHost(one))
    }
  }

  @Test(arguments: [
    ("::ffff:192.0.2.1", "::ffff:192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1"), ("::ffff:192.0.2.1", "::1"),
    ("a.example.org", "b.example.org"),
  ])
  func oneHostLeavesAnotherItsRequests(_ one: String, _ other: String) throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 { try limiter(folder).admit(alice, from: .remoteHost(one)) }
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 600)) {
      try limiter(folder).admit(alice, from: .remoteHost(one))
    }
    try limiter(folder).admit(alice, from: .remoteHost(other))
  }

  @Test func anApprovedRequestLeavesNoFile() throws {
    let folder = try TemporaryFolder()
    try limiter(folder).admit(alice, from: .own)
    try limiter(folder).forgive(alice, from: .own)
    #expect(try BoundedFolder.names(in: folder.path + "/run/attempts/own").isEmpty)
  }

  @Test func refusesAFolderThatSomeoneElseMade() throws {
    let folder = try TemporaryFolder()
    mkdir(folder.path + "/run", 0o700)
    chown(folder.path + "/run", 65_534, 65_534)
    #expect(throws: AttemptRefusal.self) { try limiter(folder).admit(alice, from: .own) }
  }

  @Test func remembersHowAConnectionEnded() throws {
    let folder = try TemporaryFolder()
    let memory = ConnectionMemory(run: RunFolder(path: folder.path + "/run"))
    func connection(_ start: UInt64, user: String = "alice", host: String = "192.0.2.1") -> SSHConnection {
      SSHConnection(parent: ProcessIdentity(pid: 7, startTime: start), user: user, remoteHost: host)
    }
    #expect(try memory.ending(on: connection(8)) == nil)
    try memory.remember("11", on: connection(8))
    #expect(try memory.ending(on: connection(8)) == "11")
    #expect(try memory.ending(on: connection(9)) == nil)
    // In sshd's password method all connections have the listener as parent.
    #expect(try memory.ending(on: connection(8, user: "bob")) == nil)
    #expect(try memory.ending(on: connection(8, host: "192.0.2.2")) == nil)
  }

  @Test func remembersAConnectionWhateverTheClockIsSetTo() throws {
    let folder = try TemporaryFolder()
    let memory = ConnectionMemory(run: RunFolder(path: folder.path + "/run"))
    let connection = SSHConnection(
      parent: ProcessIdentity(pid: 7, startTime: 8), user: "alice", remoteHost: "192.0.2.1")
    try memory.remember("11", on: connection, now: 100)
    // As after a step of the wall clock by one hour.
    let file = folder.path + "/run/attempts/connections/" + connection.fileName
    let before = timeval(tv_sec: time(nil) - 3_600, tv_usec: 0)
    #expect(utimes(file, [before, before]) == 0)
    #expect(try memory.ending(on: connection, now: 280) == "11")
    #expect(try memory.ending(on: connection, now: 281) == nil)
  }
}
