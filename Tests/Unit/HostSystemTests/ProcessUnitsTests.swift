import Testing

@testable import HostSystem

/// Users make groups of any name below their own service manager, and none beside it.
@Suite struct ProcessUnitsTests {
  private static let session = "/user.slice/user-1000.slice/session-3.scope"

  private func units(_ groups: String, ofPID1 first: String = "0::/init.scope\n") -> ProcessUnits {
    ProcessUnits(groups: Array(groups.utf8), ofPID1: Array(first.utf8))
  }

  @Test(arguments: [
    "0::\(session)\n", "0::\(session)", "0::\(session)/inner\n", "2:cpu:/\n1:name=systemd:\(session)\n0::\(session)\n",
    "1:name=systemd:/\n0::\(session)\n",
  ])
  func aSessionsScopeIsBelowItsUsersSlice(_ groups: String) {
    #expect(units(groups).session == ProcessUnits.Session(id: "3", uid: 1_000))
    #expect(units(groups).managerUID == nil)
  }

  @Test(arguments: [
    "", "/", "/session-3.scope", "/user.slice/session-3.scope", "/system.slice\(session)",
    "/user.slice/user-1000.slice/user@1000.service/app.slice/session-3.scope",
    "/user.slice/user-1000.slice/user@1000.service\(session)", "/user.slice/user-1000.slice/x.slice/session-3.scope",
    "/user.slice/user-01000.slice/session-3.scope", "/user.slice/user-+1.slice/session-3.scope",
    "/user.slice/user-.slice/session-3.scope", "/user.slice/user-4294967296.slice/session-3.scope",
    "/user.slice/user-1000.slice/session-.scope", "/user.slice/user-1000.slice/session-3.scope (deleted)",
    "/../..\(session)", "user.slice/user-1000.slice/session-3.scope",
  ])
  func aScopeElsewhereIsNoSession(_ path: String) {
    #expect(units("0::\(path)\n").session == nil)
  }

  /// Only systemd's own hierarchies count.
  @Test(arguments: ["5:cpu:\(session)\n", "5:name=other:\(session)\n", "\(session)\n", "0:\(session)\n"])
  func aScopeInAnotherHierarchyIsNotASession(_ groups: String) { #expect(units(groups).session == nil) }

  @Test(arguments: [
    ("/user.slice/user-1000.slice/user@1000.service", 1_000),
    ("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", 1_000),
    ("/user.slice/user-1000.slice/user@1001.service", nil), ("/system.slice/user@1000.service", nil),
    ("/user.slice/user-1000.slice/session-3.scope/user@1000.service", nil),
  ])
  func aUsersManagerIsBelowItsUsersSlice(_ path: String, _ uid: UInt32?) {
    #expect(units("0::\(path)\n").managerUID == uid)
  }

  @Test func inAContainerThatSeesTheMachinesGroupsTheRootIsWherePID1Is() {
    let inside = "0::/machine.slice/box:1.scope\(Self.session)\n"
    let first = "1:name=systemd:/other/init.scope\n0::/machine.slice/box:1.scope/init.scope\n"
    #expect(units(inside, ofPID1: first).session?.id == "3")
    #expect(units(inside).session == nil)
    #expect(units("0::\(Self.session)\n", ofPID1: first).session == nil)
    // Without systemd as PID 1 the root is the kernel's.
    #expect(units("0::\(Self.session)\n", ofPID1: "0::/\n").session?.id == "3")
    #expect(units("0::\(Self.session)\n", ofPID1: "").session?.id == "3")
  }

  @Test func unitsThatMayBeCutDoNotCount() {
    let long = "0::\(Self.session)/" + String(repeating: "x", count: 4_096)
    #expect(units(String(long.utf8.prefix(4_095))!).session?.id == "3")
    #expect(units(String(long.utf8.prefix(4_096))!).session == nil)
  }

  @Test func aProcessThatIsGoneHasNoUnits() {
    for pid: Int32 in [0, -1, .max] { #expect(ProcessUnits(of: pid) == ProcessUnits(groups: [])) }
  }
}
