import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct PhoneList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the phones that this computer trusts.",
    discussion: """
      Those that are pinned here, and those of the list that administrators' phones sign. The service is not asked: check \
      compares the list with its phones.
      """)

  @OptionGroup var host: HostOptions
  @Flag(help: "Print a JSON array.") var json = false
  @Argument(help: "One user's phones only.") var user: String?

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let path = host.place.phones
      let file = try host.pins.onFile { () throws(PinnedPhonesError) in try PinnedPhones(path: path) }
      var listed: [ListedPhone] = []
      var failure: CommandProblem?
      // A bad line hides only its own user's phones.
      for name in try user.map({ (text) throws(CommandProblem) in [try UnixUsername(typed: text)] }) ?? file.users() {
        do throws(PinnedPhonesError) {
          listed += try file.phones(of: name).map { ListedPhone(user: name, phone: $0) }
        } catch { failure = failure ?? CommandProblem(error, path: path) }
      }
      if user == nil, failure == nil, let line = file.badLines().first {
        failure = CommandProblem(.badLine(line), path: path)
      }
      show(listed + (try ofService(besides: Set(file.users()))))
      if let failure { throw failure }
    }
  }

  /// The phones in the signed list. Users with a pinned phone have no other phones here.
  private func ofService(besides pinned: Set<UnixUsername>) throws(CommandProblem) -> [ListedPhone] {
    guard let trust = (try? HostSetup(path: host.path))?.servicePhones else { return [] }
    let asked = try user.map { (text) throws(CommandProblem) in try UnixUsername(typed: text) }
    var listed: [ListedPhone] = []
    do throws(PinnedPhonesError) {
      guard let file = try trust.file() else { return [] }
      for name in asked.map({ [$0] }) ?? file.users() where !pinned.contains(name) {
        listed += try file.phones(of: name).map { ListedPhone(user: name, phone: $0, isPinned: false) }
      }
    } catch { throw CommandProblem(error, path: trust.path) }
    return listed
  }

  private func show(_ phones: [ListedPhone]) {
    if json { return Terminal.say(.array(phones.map(\.json))) }
    let now = Int64(time(nil))
    let isMixed = phones.contains { !$0.isPinned }
    TextTable(
      head: ListedPhone.head + (isMixed ? ["FROM"] : []),
      rows: phones.map { $0.columns(now: now) + (isMixed ? [$0.source] : []) }
    ).show(whenEmpty: "no pinned phones")
  }
}

/// One line of the list.
private struct ListedPhone {
  static let head = ["USER", "NAME", "METHODS", "SINCE", "WORDS", "ID"]

  let user: UnixUsername
  let phone: PinnedPhone
  /// Whether the phone is pinned here. Otherwise it is in the list that administrators' phones sign.
  var isPinned = true

  var source: String { isPinned ? "file" : "service" }

  private var methods: [AuthenticationMethod] { phone.credential == nil ? [.acceptance] : [.acceptance, .device] }

  func columns(now: Int64) -> [String] {
    [
      user.text, phone.name, methods.map(\.rawValue).joined(separator: ","), Span.text(now - phone.since),
      phone.keys.words, String(phone.id.prefix(8)),
    ]
  }

  var json: JSON {
    .object([
      "user": .string(user.text), "id": .string(phone.id), "name": .string(phone.name),
      "methods": .array(methods.map { .string($0.rawValue) }), "since": .integer(phone.since),
      "words": .string(phone.keys.words), "public_key": .string(phone.key.text), "from": .string(source),
    ])
  }
}
