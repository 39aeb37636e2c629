import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

struct RecoveryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery", abstract: "Makes and counts recovery codes, for days without phone or service.",
    discussion: """
      Each code signs its user in once, on this computer only, where methods_offline of iampass.conf says so. Only \
      hashes are kept.
      """,
    subcommands: [
      RecoveryCreate.self, RecoveryCollect.self, RecoveryList.self, RecoveryRevoke.self,
    ])
}

struct RecoveryList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Says how many codes each user has left, and when the last one served.")

  @OptionGroup var host: HostOptions
  @Flag(help: "Print a JSON array.") var json = false
  @Argument(help: "One user only.") var user: String?

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let codes = try host.recoveryCodes()
      let name = try user.map { (text) throws(CommandProblem) in try UnixUsername(typed: text) }
      let listed: [ListedSet]
      do throws(RecoveryError) {
        let sets: [RecoverySet]
        if let name { sets = try codes.set(of: name).map { [$0] } ?? [] } else { sets = try codes.sets() }
        listed = try sets.map { (set) throws(RecoveryError) in try ListedSet(set, codes) }
      } catch { throw CommandProblem.recovery(error) }
      if json { return Terminal.say(.array(listed.map(\.json))) }
      let now = Int64(time(nil))
      TextTable(head: ListedSet.head, rows: listed.map { $0.columns(now: now) }).show(whenEmpty: "no recovery codes")
    }
  }
}

/// One line of the list.
private struct ListedSet {
  static let head = ["USER", "LEFT", "MADE", "LAST USED", "BY", "REMARK"]

  let set: RecoverySet
  let left: Int
  let isThisComputers: Bool
  let isOfThisName: Result<Bool, UserLookupError>
  /// The last use that can be read.
  let last: CodeUse?

  init(_ set: RecoverySet, _ codes: RecoveryCodes) throws(RecoveryError) {
    self.set = set
    let uses = try codes.uses(of: set)
    left = RecoverySet.codeCount - uses.count
    last = uses.values.compactMap { $0 }.max { $0.time < $1.time }
    isThisComputers = codes.isThisComputers(set)
    isOfThisName = Result { () throws(UserLookupError) in try codes.isOfThisName(set) }
  }

  private var remark: String {
    if !isThisComputers { return "made for another computer: not taken" }
    switch isOfThisName {
    case .success(true): return ""
    case .success(false): return "made for another user: not taken"
    case .failure(let error): return error.explanation
    }
  }

  func columns(now: Int64) -> [String] {
    [
      set.user.text, "\(left) of \(RecoverySet.codeCount)", Span.text(now - set.created) + " ago",
      last.map { Span.text(now - $0.time) + " ago" } ?? "", last?.service ?? "", remark,
    ]
  }

  var json: JSON {
    .object([
      "user": .string(set.user.text), "left": .integer(Int64(left)), "created": .integer(set.created),
      "last_used": last.map { .integer($0.time) }, "last_service": last.map { .string($0.service) },
      "last_remote_host": last?.remoteHost.map { .string($0) }, "this_computer": .bool(isThisComputers),
    ])
  }
}

struct RecoveryRevoke: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Takes a user's recovery codes on this computer away.")

  @OptionGroup var host: HostOptions
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let lock = try AdminLock(folder: host.folder)
      defer { withExtendedLifetime(lock) {} }
      let name = try UnixUsername(typed: user)
      let wasThere = try host.revokeRecoveryCodes(of: name)
      Terminal.say(wasThere ? "\(name): recovery codes revoked" : "\(name): had no recovery codes")
    }
  }
}

extension HostOptions {
  /// The recovery codes. Throws if the configuration cannot be read, because it may name another folder than the
  /// default.
  func recoveryCodes() throws(CommandProblem) -> RecoveryCodes {
    RecoveryCodes(state: RunFolder(path: try configuration().stateFolder))
  }

  @discardableResult
  func revokeRecoveryCodes(of user: UnixUsername) throws(CommandProblem) -> Bool {
    let codes = try recoveryCodes()
    do { return try codes.revoke(user) } catch { throw .recovery(error) }
  }
}
