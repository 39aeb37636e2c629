import CHost
import ForkedChild
import Glibc
import Testing

@testable import LoginModule

/// A process that holds one end of a TCP connection, as sshd's does. The test holds the other end.
@Suite(.serialized) struct ClientWatchTests {
  private final class Holder {
    let process: pid_t
    var clients: [Int32]

    /// - Parameter count: connections that the process holds.
    init(connections count: Int) throws {
      var servers: [Int32] = []
      var clients: [Int32] = []
      for _ in 0..<count {
        let (client, server) = try Self.connected()
        clients.append(client)
        servers.append(server)
      }
      // `sleep` gets copies of the server's ends alone.
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      for (index, server) in servers.enumerated() {
        posix_spawn_file_actions_adddup2(&actions, server, 40 + Int32(index))
      }
      var started: pid_t = 0
      let words = [strdup("sleep"), strdup("60"), nil]
      defer { for word in words { free(word) } }
      try #require(posix_spawn(&started, "/bin/sleep", &actions, nil, words, nil) == 0)
      for server in servers { close(server) }
      process = started
      self.clients = clients
    }

    deinit {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
      for client in clients { close(client) }
    }

    private static func connected() throws -> (client: Int32, server: Int32) {
      // No program that another test starts may keep these.
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      let listener = socket(AF_INET, kind, 0)
      defer { close(listener) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let client = socket(AF_INET, kind, 0)
      let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
            && connect(client, $0, length) == 0
        }
      }
      try #require(isConnected)
      let accepted = accept(listener, nil, nil)
      defer { close(accepted) }
      return (client, iampass_duplicate_above(accepted, 100))
    }
  }

  /// Nil where the kernel lets nobody look (a container without the right to trace).
  private func watch(_ holder: Holder) -> ClientWatch? { ClientWatch(of: holder.process) }

  /// Shells and hosts use the numbers up to 9. Runs in a child, since descriptors belong to a whole process.
  @Test func aWatchTakesNoNumberThatAHostUses() throws {
    let holder = try Holder(connections: 1)
    let child = iampass_fork()
    if child == 0 {
      for descriptor in Int32(0)...9 { close(descriptor) }
      guard let watch = watch(holder) else { _exit(0) }
      let areFree = (Int32(0)...9).allSatisfy { fcntl($0, F_GETFD) == -1 }
      _exit(!watch.hasLeft && areFree ? 0 : 1)
    }
    #expect(ended(child) == 0)
  }

  @Test func aClientThatClosesHasLeft() throws {
    let holder = try Holder(connections: 1)
    guard let watch = watch(holder) else { return }
    #expect(!watch.hasLeft)
    close(holder.clients.removeFirst())
    #expect(eventually { watch.hasLeft })
  }

  @Test func whatAClientSendsDoesNotEndIt() throws {
    let holder = try Holder(connections: 1)
    guard let watch = watch(holder) else { return }
    #expect(write(holder.clients[0], "x", 1) == 1)
    #expect(!watch.hasLeft)
  }

  @Test func neitherOfTwoConnectionsIsWatched() throws { #expect(watch(try Holder(connections: 2)) == nil) }

  @Test func withoutAConnectionNobodyIsWatched() throws { #expect(watch(try Holder(connections: 0)) == nil) }

  @Test func aProcessThatHasEndedDoesNotCountAsAClientThatLeft() throws {
    let holder = try Holder(connections: 1)
    guard let watch = watch(holder) else { return }
    kill(holder.process, SIGKILL)
    waitpid(holder.process, nil, 0)
    #expect(!watch.hasLeft)
  }

  private func eventually(_ holds: () -> Bool) -> Bool {
    for _ in 0..<200 {
      if holds() { return true }
      usleep(10_000)
    }
    return false
  }
}
