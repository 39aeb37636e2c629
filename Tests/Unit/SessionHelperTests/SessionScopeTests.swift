import Glibc
import HostState
import HostSystem
import Testing

@testable import SessionHelper
@testable import WorkerLink

@Suite struct SessionScopeTests {
  private let group = "user.slice/user-1000.slice/session-3.scope"

  @Test func findsTheProcessesOfTheScopeAndOfTheGroupsInIt() throws {
    let hierarchy = try ScratchFolder()
    try hierarchy.write(group + "/cgroup.procs", "7\n8\n")
    try hierarchy.write(group + "/one/cgroup.procs", "")
    try hierarchy.write(group + "/one/two/cgroup.procs", "9\n0\n")
    let scope = try #require(SessionScope(someSession(), hierarchy: hierarchy.path))
    #expect(try scope.processes() == [7, 8, 9])
  }

  @Test func seesNoOtherScopes() throws {
    let hierarchy = try ScratchFolder()
    try hierarchy.write(group + "/cgroup.procs", "7\n")
    try hierarchy.write("user.slice/user-1000.slice/cgroup.procs", "1\n")
    try hierarchy.write("user.slice/user-1000.slice/session-33.scope/cgroup.procs", "2\n")
    try hierarchy.write("user.slice/user-1001.slice/session-3.scope/cgroup.procs", "3\n")
    symlink("../session-33.scope", hierarchy.path + "/" + group + "/link")
    let scope = try #require(SessionScope(someSession(), hierarchy: hierarchy.path))
    #expect(try scope.processes() == [7])
  }

  @Test func aScopeThatIsGoneHasNoProcesses() throws {
    let hierarchy = try ScratchFolder()
    let scope = try #require(SessionScope(someSession(), hierarchy: hierarchy.path))
    #expect(try scope.processes() == [])
  }

  @Test func aScopeThatCannotBeReadIsNotAnEmptyOne() throws {
    let hierarchy = try ScratchFolder()
    try hierarchy.write(group + "/cgroup.procs/no-file")
    let scope = try #require(SessionScope(someSession(), hierarchy: hierarchy.path))
    #expect(throws: FileError.self) { try scope.processes() }
  }

  @Test func findsTheScopeOfASessionThatLogindForgot() throws {
    let hierarchy = try ScratchFolder()
    try hierarchy.write(group + "/cgroup.procs", "7\n")
    let scope = try #require(SessionScope(id: "3", uid: 1_000, hierarchy: hierarchy.path))
    #expect(scope.unit == "session-3.scope")
    #expect(try scope.processes() == [7])
    #expect(SessionScope(id: "../3", uid: 1_000, hierarchy: hierarchy.path) == nil)
  }

  @Test(arguments: ["", "session-4.scope", "user@1000.service", "session-3.scope/..", "/session-3.scope", "init.scope"])
  func refusesAScopeThatIsNotTheSessions(_ scope: String) {
    #expect(SessionScope(someSession(scope: scope), hierarchy: "/sys") == nil)
  }

  @Test(arguments: [
    ("session-3.scope", true), ("session-c1.scope", true), ("session-.scope", false), ("session-self.scope", false),
    ("session-3.service", false), ("ssh.service", false), ("session-3/../4.scope", false), ("session.scope", false),
    ("init.scope", false),
  ])
  func tellsASessionsScopeFromOtherUnits(_ name: String, _ expected: Bool) {
    #expect(SessionScope.isUnit(name) == expected)
  }

  @Test func findsTheUnifiedHierarchy() throws {
    let folder = try ScratchFolder()
    try folder.write("cgroup.controllers", "cpu")
    let groups = try folder.write("groups", "0::/init.scope\n")
    #expect(SessionScope.hierarchy(mount: folder.path, groups: groups) == folder.path)
  }

  @Test func findsSystemdsAmongTheOlderHierarchies() throws {
    let folder = try ScratchFolder()
    let groups = try folder.write("groups", "2:cpu:/\n1:name=systemd:/init.scope\n0::/init.scope\n")
    #expect(SessionScope.hierarchy(mount: folder.path, groups: groups) == folder.path + "/systemd")
  }

  @Test func findsTheGroupsOfAContainerThatSeesTheMachines() throws {
    let folder = try ScratchFolder()
    try folder.write("cgroup.controllers", "cpu")
    let groups = try folder.write("groups", "0::/machine.slice/box:1.scope/init.scope\n")
    let expected = folder.path + "/machine.slice/box:1.scope"
    #expect(SessionScope.hierarchy(mount: folder.path, groups: groups) == expected)
  }

  @Test(arguments: ["", "0::/\n", "0::init.scope\n", "garbage\n"])
  func isNotFoundWhereSystemdIsNotPID1(_ text: String) throws {
    let folder = try ScratchFolder()
    try folder.write("cgroup.controllers", "cpu")
    let groups = try folder.write("groups", text)
    #expect(SessionScope.hierarchy(mount: folder.path, groups: groups) == nil)
  }
}
