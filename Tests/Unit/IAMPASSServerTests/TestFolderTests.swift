import Glibc
import LocalPostgreSQL
import Testing

@testable import IAMPASSServer

/// What a run of these tests leaves in memory goes with it, also if it is killed.
@Suite struct TestFolderTests {
  @Test func aFolderGoesWithTheProcessThatHasItsKeeper() throws {
    let folder = TestFolder.path + "/kept-" + (try RandomValue.identifier())
    try #require(mkdir(folder, 0o700) == 0 && mkdir(folder + "/database", 0o700) == 0)
    let keeper = try #require(TestFolder.keeper(of: folder))
    #expect(access(folder, F_OK) == 0)
    // As the end of the process does.
    #expect(pclose(keeper) == 0)
    #expect(access(folder, F_OK) != 0 && errno == ENOENT)
  }

  @Test func databasesAreInAFolderOfTheRunsOwn() {
    #expect(TestFolder.path.contains("/iampass-run."))
  }
}
