import HostState
import HostSystem
import IAMPASSProtocol
import Testing

@Suite struct KeyValueEditorTests {
  private func edited(_ text: String, _ values: (String, String)...) -> String {
    let values = values.map { (key: $0.0, value: $0.1) }
    return String(decoding: KeyValueEditor.setting(values, in: Array(text.utf8)), as: UTF8.self)
  }

  @Test func keepsCommentsAndOrder() {
    #expect(edited("# a\n\nx = 1\n  y=2\n# x = 3\n", ("x", "9")) == "# a\n\nx = 9\n  y=2\n# x = 3\n")
  }

  @Test func addsWhatIsNotThereBehindALastLineWithoutEnd() { #expect(edited("x = 1", ("y", "2")) == "x = 1\ny = 2\n") }

  @Test func beginsAnEmptyFile() { #expect(edited("", ("y", "2")) == "y = 2\n") }

  @Test func removesAKeyAndLeavesTheRestAsItIs() {
    let text = "# host = a\nhost = b\n\n hosts = c\n  host=d\nx = 1"
    let left = KeyValueEditor.removing(["host"], from: Array(text.utf8))
    #expect(String(decoding: left, as: UTF8.self) == "# host = a\n\n hosts = c\nx = 1")
    #expect(KeyValueEditor.removing([], from: Array(text.utf8)) == Array(text.utf8))
  }

  @Test func aLongerKeyIsAnotherKey() { #expect(edited("xy = 1\n", ("x", "2")) == "xy = 1\nx = 2\n") }
}

@Suite struct FileSetTests {
  private func text(_ path: String) throws -> String {
    String(decoding: try SecureFile.read(path, privacy: .secret, limit: 64), as: UTF8.self)
  }

  @Test func writesAllAndLeavesNothingBeside() throws {
    let folder = try TemporaryFolder()
    let entries = ["iampass.conf", "credentials"].map { FileSet.Entry(name: $0, bytes: Array("new".utf8), mode: 0o600) }
    try FileSet.write(entries, in: folder.path)
    #expect(try text(folder.path + "/iampass.conf") == "new")
    #expect(throws: FileError(.missing, path: folder.path + "/iampassctl.pending")) {
      try text(folder.path + "/iampassctl.pending")
    }
  }

  /// So a power cut leaves no more than a killed writer.
  @Test func eachStepIsOnTheDiskBeforeTheNext() throws {
    let folder = try TemporaryFolder()
    let entries = ["iampass.conf", "credentials"].map { FileSet.Entry(name: $0, bytes: Array("new".utf8), mode: 0o600) }
    var seen: [[String]] = []
    try FileSet.write(entries, in: folder.path) { (flushed: String) throws(FileError) in
      let names = try FolderListing.names(in: flushed)
      seen.append(names.filter { !$0.hasPrefix(".") }.sorted())
    }
    #expect(
      seen == [
        ["credentials.pending", "iampass.conf.pending"],
        ["credentials.pending", "iampass.conf.pending", "iampassctl.pending"],
        ["credentials", "iampass.conf", "iampassctl.pending"],
      ])
  }

  @Test func finishesWhatWasKilledBetweenTwoRenames() throws {
    let folder = try TemporaryFolder()
    try folder.write("iampass.conf", "new")
    try folder.write("credentials", "old")
    try folder.write("credentials.pending", "new")
    try folder.write("iampassctl.pending", "iampass.conf\ncredentials\n")
    try FileSet.recover(in: folder.path)
    #expect(try text(folder.path + "/credentials") == "new")
  }

  @Test func forgetsWhatWasKilledBeforeItCounted() throws {
    let folder = try TemporaryFolder()
    try folder.write("credentials", "old")
    try folder.write("credentials.pending", "new")
    try FileSet.recover(in: folder.path)
    #expect(try text(folder.path + "/credentials") == "old")
    #expect(throws: FileError(.missing, path: folder.path + "/credentials.pending")) {
      try text(folder.path + "/credentials.pending")
    }
  }
}

@Suite struct UserTokensEditorTests {
  private func named(_ name: String) throws -> UnixUsername { try #require(UnixUsername(validating: name)) }

  @Test func addsManyAtOnceBehindALastLineWithoutEnd() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "a:1")
    try UserTokensEditor(path: path).add([(try named("b"), Secret("2")), (try named("c"), Secret("3"))])
    #expect(
      String(decoding: try SecureFile.read(path, privacy: .secret, limit: 64), as: UTF8.self) == "a:1\nb:2\nc:3\n")
  }

  @Test func refusesAUserWhoHasAnotherTokenAndAddsNobody() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "a:1\n")
    #expect(throws: UserTokensError.hasAnotherToken("a")) {
      try UserTokensEditor(path: path).add([(try named("b"), Secret("2")), (try named("a"), Secret("9"))])
    }
    #expect(try UserTokens(path: path).users() == ["a"])
  }

  @Test func refusesATokenThatSomebodyElseHas() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "#b:2\na:1\n")
    let editor = UserTokensEditor(path: path)
    #expect(throws: UserTokensError.tokenIsAnothers("a")) { try editor.token(of: try named("b"), orAdd: Secret("1")) }
    #expect(try UserTokens(path: path).users() == ["a"])
    // A token in a comment does not belong to a user.
    #expect(try editor.token(of: try named("b"), orAdd: Secret("2")).isNew)
  }

  @Test func aRemovalCountsWhenItIsFinished() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "a:1\nb:2\n")
    let removal = try UserTokensEditor(path: path).removal(of: try named("a"), token: Secret("1"))
    #expect(try UserTokens(path: path).users() == ["a", "b"])
    #expect(try UserTokens(path: path + ".new").users() == ["b"])
    try removal.finish()
    #expect(try UserTokens(path: path).users() == ["b"])
  }

  @Test func aRemovalThatIsGivenUpLeavesNothing() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "a:1\n")
    do { _ = try UserTokensEditor(path: path).removal(of: try named("a"), token: Secret("1")) }
    #expect(try UserTokens(path: path).users() == ["a"])
    #expect(throws: UserTokensError.file(FileError(.missing, path: path + ".new"))) {
      try UserTokens(path: path + ".new")
    }
    // The lock is released.
    try UserTokensEditor(path: path).remove(try named("a"), token: Secret("1"))
    #expect(try UserTokens(path: path).users() == [])
  }
}
