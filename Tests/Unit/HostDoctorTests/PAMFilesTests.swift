import Glibc
import HostDoctor
import Testing

@Suite struct PAMFilesTests {
  private let line = "auth required pam_iampass.so\n"

  /// A folder with these files, deleted after `body`.
  private func with<Answer>(_ files: [String: String], _ body: (String) throws -> Answer) throws -> Answer {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    let folders = [folder + "/pam.d", folder + "/vendor"]
    defer {
      for name in files.keys { unlink(folder + "/" + name) }
      for path in folders + [folder] { rmdir(path) }
    }
    for path in folders { mkdir(path, 0o700) }
    for (name, text) in files {
      let file = try #require(fopen(folder + "/" + name, "w"))
      fputs(text, file)
      fclose(file)
    }
    return try body(folder)
  }

  private func places(_ files: [String: String]) throws -> [String] {
    try with(files) { folder in
      PAMFiles.moduleLines(in: ["pam.d", "vendor", "pam.conf", "nowhere"].map { folder + "/" + $0 }).map {
        String($0.place.dropFirst(folder.count + 1))
      }
    }
  }

  @Test func linesOfEveryServiceAndKindAreFound() throws {
    let files = [
      "pam.d/sudo": "auth requisite pam_unix.so\n" + line, "pam.d/login": "session optional /lib/pam_iampass.so x\n",
      "vendor/polkit-1": line, "pam.conf": "su " + line, "pam.d/su": "auth required pam_unix.so\n",
    ]
    #expect(try places(files) == ["pam.d/login:1", "pam.d/sudo:2", "vendor/polkit-1:1", "pam.conf:1"])
  }

  @Test func linesThatAskForSecurityKeysAreFound() throws {
    let files = [
      "pam.d/login": "auth required pam_u2f.so cue origin=pam://iampass\n",
      "pam.d/su": "auth required pam_u2f.so authfile=/etc/iampass/security-keys\n",
      "pam.d/sudo": "auth required pam_u2f.so authfile=/etc/keys\n",
    ]
    #expect(try places(files) == ["pam.d/login:1", "pam.d/su:1"])
  }

  @Test func theLineIsShownAsItStands() throws {
    let found = try with(["pam.d/sudo": line]) { PAMFiles.moduleLines(in: [$0 + "/pam.d"]).map(\.text) }
    #expect(found == ["auth required pam_iampass.so"])
  }

  @Test func whatIsNotInForceIsNotFound() throws {
    let files = [
      "pam.d/sudo": "# " + line + "auth required pam_unix.so # pam_iampass.so\n", "pam.d/sudo.dpkg-old": line,
      "pam.d/common-auth.pam-old": line, "pam.d/login.bak": line, "pam.d/su~": line,
    ]
    #expect(try places(files).isEmpty)
  }

  @Test func namesOfServicesAreThoseOfNoCopy() throws {
    let names = try with([
      "pam.d/sudo": "", "pam.d/su": "", "pam.d/su.dpkg-old": "", "pam.d/su~": "", "pam.d/su.save": "",
      "pam.d/.su.swo": "", "pam.d/su.ucf-old": "",
    ]) {
      PAMFiles.names(in: $0 + "/pam.d")
    }
    #expect(names == ["su", "sudo"])
  }
}
