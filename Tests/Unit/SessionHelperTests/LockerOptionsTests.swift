import Glibc
import HostSystem
import Testing

@testable import SessionHelper

/// Lockers that run and lock nothing.
@Suite struct LockerOptionsTests {
  private func locks(_ name: String, _ words: [String]) -> Bool {
    LockerOptions.lock(name, arguments: ([name] + words).flatMap { Array($0.utf8) + [0] })
  }

  @Test(arguments: [
    ["--no-input-inhibit"], ["--no-layer-shell"], ["-d", "--no-input-inhibit"], ["-i"], ["-l"], ["-di"], ["-Hl"],
  ])
  func gtklockThatIsAWindowLikeOthersLocksNothing(words: [String]) {
    #expect(!locks("gtklock", words))
  }

  @Test(arguments: [
    [], ["-d"], ["--daemonize"], ["-s", "light.css"], ["-slilac.css"], ["-dHS"], ["--style=-i"], ["-t%H:%l"],
    ["-xlilac.ui"], ["-MVirtual-1"], ["il"],
  ])
  func gtklockLocksWithItsOtherOptions(words: [String]) {
    #expect(locks("gtklock", words))
  }

  @Test func otherLockersHaveOtherOptions() {
    #expect(locks("i3lock", ["-i", "picture.png"]))
    #expect(locks("swaylock", ["-f", "-i", "picture.png", "-l"]))
  }

  @Test func theSeatReadsTheOptionsOfAProcess() throws {
    let folder = try ScratchFolder()
    let harmless = try Locker("gtklock", "-i", in: folder)
    let other = try Locker("sway", "-d", in: folder)
    let locker = try Locker("gtklock", "-d", in: folder)
    defer { withExtendedLifetime([harmless, other, locker]) {} }
    #expect(SystemSeat.locker(among: [harmless.pid, other.pid]) == nil)
    let process = try #require(ProcessIdentity(pid: locker.pid))
    let found = SystemSeat.locker(among: [harmless.pid, other.pid, locker.pid])
    #expect(found == RunningLocker(name: "gtklock", process: process))
  }
}

/// A shell with a locker's name and option, which stops itself.
private final class Locker {
  let pid: pid_t

  init(_ name: String, _ option: String, in folder: ScratchFolder) throws {
    let path = folder.path + "/" + name
    if access(path, F_OK) != 0 { try #require(symlink("/bin/sh", path) == 0) }
    var child: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = [
      strdup(name), strdup("-c"), strdup("kill -STOP $$"), strdup(option), nil,
    ]
    defer { for word in words { free(word) } }
    let failure = posix_spawn(&child, path, nil, nil, &words, nil)
    try #require(failure == 0)
    pid = child
    // posix_spawn(3) may return before the kernel has the name and the words of what was executed.
    try #require(waitpid(child, nil, WUNTRACED) == child)
  }

  deinit {
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
  }
}
