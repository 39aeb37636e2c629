import HostState
import Testing

@Suite struct ServiceTableTests {
  @Test func eachServiceHasOneRow() {
    let names = ServiceTable.rows.map(\.name)
    #expect(Set(names).count == names.count)
  }

  @Test func aServiceWithoutARowIsWatched() {
    #expect(ServiceTable.row("ftp") == nil)
    #expect(ServiceTable.opensSession("ftp"))
    #expect(ServiceTable.opensSession(""))
  }

  @Test func onlyWhatSignsSomebodyInIsWatched() {
    for row in ServiceTable.rows {
      let signsIn: [ServiceRow.Kind] = [.greeter, .ssh, .console, .job]
      #expect(row.opensSession == (signsIn.contains(row.kind) || row.lockSign == .untried), "\(row.name)")
    }
  }

  @Test func lockersOfAUserAskThroughTheBroker() {
    #expect(DesktopServices.asksBroker("swaylock"))
    #expect(DesktopServices.asksBroker(DesktopServices.polkit))
    #expect(!DesktopServices.asksBroker("vlock"))
    #expect(!DesktopServices.asksBroker("hyprlock"))
    #expect(!DesktopServices.asksBroker("sudo"))
  }

  @Test func rootsLockersUnlock() {
    #expect(DesktopServices.isRootsLocker("physlock"))
    #expect(!DesktopServices.isRootsLocker("swaylock"))
    #expect(!DesktopServices.isRootsLocker("login"))
  }
}
