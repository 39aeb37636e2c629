import Foundation
import HostSystem
import Testing

/// What hints have root paste.
@Suite struct MendingCommandTests {
  private static let codes: [FileError.Code] = [
    .missing, .notRegular, .symbolicLink, .notOwnedByRoot, .writableByOthers, .readableByOthers,
    .folderWritableByOthers,
    .tooLarge, .empty, .noCertificate, .system(5),
  ]

  @Test(arguments: [
    "/etc/iampass/users", "/run/iampass", "/var/lib/iampass/service/users", "/usr/libexec/iampass/iampass-https",
    "/root/iampass-trial/credentials",
  ])
  func whatIsOurOwnGetsACommand(_ path: String) {
    #expect(MendingCommand.text("chmod 600", path) == "chmod 600 \(path)")
  }

  @Test(arguments: [
    "/etc/hosts", "/etc", "/", "", "users", "iampass/users", "/etc/iampass.conf", "/etc/iampass/../hosts",
    "/etc/./iampass/x", "/run", "/tmp", "/etc/pam.d/sudo", "/usr/bin/python3", "/etc/myiampass/users",
  ])
  func whatIsSomebodyElsesGetsNone(_ path: String) {
    #expect(MendingCommand.text("chmod 600", path) == nil)
  }

  @Test(arguments: codes, [UInt32(0o1777), 0o755])
  func noErrorOfAFileOfTheSystemsHasACommand(_ code: FileError.Code, _ mode: UInt32) {
    for path in ["/etc/hosts", "/tmp/secret", "secret", "/tmp/iampass-secret/../x"] {
      let hint = FileError(code, path: path, mode: mode).hint ?? ""
      #expect(!Self.changesFiles(hint), "\(hint)")
    }
  }

  /// `/tmp/iampass-secret` is ours, and `/tmp` is everybody's.
  @Test func theFolderOfAFileIsJudgedByItself() {
    let hint = FileError(.folderWritableByOthers, path: "/tmp/iampass-secret", mode: 0o1777).hint
    #expect(hint == "copy the file to a folder that only root can write, such as /root, and name it there")
  }

  @Test func aPathIsOneWordForAShell() {
    #expect(MendingCommand.text("rm", "/etc/iampass/#users#") == "rm '/etc/iampass/#users#'")
    #expect(MendingCommand.text("rm", "/etc/iampass/a'b;c") == #"rm '/etc/iampass/a'\''b;c'"#)
  }

  /// Whoever writes another such hint has to ask ``MendingCommand`` whose the file is.
  @Test func noHintIsWrittenPastIt() throws {
    let project = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    var commands = 0
    for folder in ["Computer", "Commands/HostDoctor", "Commands/IAMPASSControl", "Commands/CommandSupport"] {
      let root = project.appending(path: "Sources/\(folder)")
      let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
      for case let file as URL in try #require(files) where file.pathExtension == "swift" {
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where Self.writesOne(line) {
          commands += 1
          #expect(line.contains("MendingCommand.text("), "\(file.lastPathComponent): \(line)")
        }
      }
    }
    #expect(commands >= 6)
    #expect(Self.writesOne(#"hint: "chmod 600 \(path)""#) && Self.writesOne(#"hint: "mend it; rm \(path)""#))
    #expect(Self.writesOne(#"hint: "iampassctl user remove \(name)""#))
    #expect(!Self.writesOne(#"hint: "iampassctl user remove --local \(name)""#))
  }

  private static func changesFiles(_ text: some StringProtocol) -> Bool {
    String(text).contains(#/(^|[; ])(chmod|chown|chgrp|rm|mv|unlink) /#)
  }

  /// A literal with a command in it that changes a file, or that takes a user off all computers.
  private static func writesOne(_ line: some StringProtocol) -> Bool {
    let text = String(line)
    // Most lines go without the slow search.
    guard
      text.contains("ch") || text.contains("rm ") || text.contains("mv ") || text.contains("unlink ")
        || text.contains("user remove"), !text.contains(#/^ *///#)
    else { return false }
    return text.contains(#/"([^"]*[; ])?(chmod|chown|chgrp|rm|mv|unlink) /#)
      || text.contains(#/"iampassctl user remove (?!--local)/#)
  }
}
