import CommandSupport
import Glibc
import IAMPASSProtocol

/// The service's applications, read as its own user: root does not open a database that others can write.
struct ServiceApplications {
  /// The names of all applications, the service's own included.
  let names: Set<String>
  /// Whether there is an application for computers.
  let hasOne: Bool

  /// - Parameter data: the data folder, which may not exist yet.
  init(data: String) throws(CommandProblem) {
    let list = ["application", "list", "--json", "--data", data]
    var done = try OwnCommand.run(list)
    // A setup that was killed leaves a database half made, and an update of the package one of the version before.
    if done.status == EX_CONFIG {
      let migrated = try OwnCommand.run(["database", "migrate", "--data", data])
      guard migrated.status == 0 else { throw CommandProblem(ofCommand: migrated) }
      done = try OwnCommand.run(list)
    }
    guard done.status != EX_NOINPUT else {
      names = []
      hasOne = false
      return
    }
    guard done.status == 0 else { throw CommandProblem(ofCommand: done) }
    let lines = done.output.split(separator: "\n").map { try? JSON(parsing: Array($0.utf8)) }
    names = Set(lines.compactMap { $0?["name"]?.string })
    hasOne = names.contains { $0 != SetupCommand.administrators }
  }

  /// Makes the application with this id and secret. A second call changes nothing.
  ///
  /// - Returns: why the service did not accept it; nil if it did.
  /// - Throws: if that is not known. The service may have the application.
  static func take(_ name: String, id: String, secret: String, data: String) throws(CommandProblem) -> CommandProblem? {
    let done = try OwnCommand.run(["application", "take", "--data", data, "--", name], input: "\(id)\n\(secret)\n")
    return done.status == 0 ? nil : CommandProblem(ofCommand: done)
  }
}
