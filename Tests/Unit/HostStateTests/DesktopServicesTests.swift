import HostState
import Testing

@Suite struct DesktopServicesTests {
  @Test func theGroupStandsForEachOfItsServicesOnce() {
    let names = DesktopServices.expanded(["sudo", "swaylock", "@desktop", "sudo"])
    #expect(names.prefix(3) == ["sudo", "swaylock", "gdm-password"])
    #expect(Set(names).count == names.count)
    #expect(Set(names) == Set(DesktopServices.all + ["sudo"]))
  }

  @Test func theConfigurationKnowsTheGroup() throws {
    let configuration = try Configuration(parsing: Array("services = sudo, @desktop".utf8))
    #expect(configuration.services == ["sudo"] + DesktopServices.all)
  }

  @Test func whatOpensNoSessionIsNotWatched() {
    #expect(!ServiceTable.opensSession("polkit-1"))
    #expect(!ServiceTable.opensSession("swaylock"))
    #expect(ServiceTable.opensSession("gdm-password"))
  }
}
