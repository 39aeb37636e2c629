import HostState
import Testing

@Suite struct SetupPlaceTests {
  @Test(arguments: [
    ("/etc/iampass/iampass.conf", "/etc/iampass", "/etc/iampass/users"),
    ("/iampass.conf", "/", "/users"),
    ("iampass.conf", ".", "./users"),
    ("a/b.conf", "a", "a/users"),
  ])
  func everythingStandsBesideTheConfiguration(path: String, folder: String, users: String) {
    let place = SetupPlace(configuration: path)
    #expect(place.folder == folder)
    #expect(place.users == users)
    #expect(place.credentials == users.dropLast(5) + "credentials")
    #expect(place.trial == users.dropLast(5) + "iampass-trial")
    #expect(place.trialEnd == users.dropLast(5) + "iampass-trial-ended")
    #expect(folder == "/" ? "/" + place.name == path : path.hasSuffix(place.name))
  }
}
