import Glibc
import HostSystem

/// Why a file of `services.d` is not used. No sign-in asks the phone then.
public enum OwnServicesError: Error, Sendable, Equatable {
  case keyValue(KeyValueError)
  /// The file's name without `.conf` is not a valid PAM service.
  case badName
  /// ``ServiceTable`` already has a row for the service. A file cannot change it.
  case known
  case unknownKey(String, line: Int)
  case badKind(line: Int)
  case noKind
  case badShows(line: Int)
  /// Only a locker may show nothing: other programs must show digits.
  case showsNothing
  case tooMany

  public func explanation(path: String) -> String {
    switch self {
    case .keyValue(let error): error.explanation(path: path)
    case .badName: "\(path): its name is not a PAM service's with .conf"
    case .known: "\(path): this service is known; remove the file"
    case .unknownKey(let key, let line): "\(path):\(line): unknown key \(key): takes kind, shows"
    case .badKind(let line): "\(path):\(line): bad kind: takes \(OwnServices.kinds.map(\.word).joined(separator: ", "))"
    case .badShows(let line):
      "\(path):\(line): bad shows: takes \(ServiceRow.Shows.allCases.map(\.rawValue).joined(separator: ", "))"
    case .showsNothing: "\(path): shows = nothing is for kind = locker alone: nobody could read a match code"
    case .noKind: "\(path): kind is not set"
    case .tooMany: "\(path) has more than \(OwnServices.most) files"
    }
  }
}

/// An administrator's rows for PAM services that ``ServiceTable`` does not have: `services.d/SERVICE.conf` beside the
/// configuration. One file that is not valid makes all of them invalid.
public struct OwnServices: Sendable, Equatable {
  public static let folder = "services.d"
  /// The most files in the folder. Each sign-in reads all of them.
  static let most = 64
  /// The kind that `iampassctl login-test` may propose.
  public static let kind = "sudo-like"
  /// The kinds that a file can name. Neither opens a session, so a mistake in a file cannot make a service a greeter.
  static let kinds: [(word: String, kind: ServiceRow.Kind)] = [(kind, .sudoLike), ("locker", .locker)]
  private static let suffix = ".conf"

  public private(set) var rows: [ServiceRow] = []

  public init() {}

  /// Reads a folder, which may be missing. Others may read its files, but not write them.
  init(folder: String) throws(ConfigurationError) {
    for name in try Self.names(in: folder) {
      let path = folder + "/" + name
      do throws(OwnServicesError) { rows.append(try Self.row(String(name.dropLast(Self.suffix.count)), path)) } catch {
        throw .services(error, path: path)
      }
    }
  }

  func row(_ service: String) -> ServiceRow? { rows.first { $0.name == service } }

  private static func row(_ service: String, _ path: String) throws(OwnServicesError) -> ServiceRow {
    let file: KeyValueFile
    do { file = try KeyValueFile(path: path, privacy: .readableByAll) } catch { throw .keyValue(error) }
    return try row(service, file)
  }

  /// - Parameter service: the file's name without `.conf`.
  static func row(_ service: String, _ file: KeyValueFile) throws(OwnServicesError) -> ServiceRow {
    // `@` begins the name of a group.
    guard !service.isEmpty, !service.hasPrefix("@"), ServiceNames.read(service) == [service] else { throw .badName }
    guard ServiceTable.row(service) == nil, !DesktopServices.isGDM(service) else { throw .known }
    var kind: ServiceRow.Kind?
    var shows = ServiceRow.Shows.text
    for entry in file.entries {
      switch entry.key {
      case "kind":
        guard let known = kinds.first(where: { $0.word == entry.value }) else { throw .badKind(line: entry.line) }
        kind = known.kind
      case "shows":
        guard let known = ServiceRow.Shows(rawValue: entry.value) else { throw .badShows(line: entry.line) }
        shows = known
      default: throw .unknownKey(entry.key, line: entry.line)
      }
    }
    guard let kind else { throw .noKind }
    guard shows != .nothing || kind == .locker else { throw .showsNothing }
    return ServiceRow(service, kind, by: kind == .locker ? .user : .root, shows: shows)
  }

  /// The files' names, sorted. Hidden files and files without `.conf` are skipped: editors and packages leave such
  /// files.
  private static func names(in folder: String) throws(ConfigurationError) -> [String] {
    let names: [String]
    do { names = try FolderListing.names(in: folder) } catch {
      if error.code == .system(ENOENT) { return [] }
      throw .services(.keyValue(.file(error)), path: folder)
    }
    let services = names.filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".") }
    guard services.count <= most else { throw .services(.tooMany, path: folder) }
    return services.sorted()
  }
}

extension Configuration {
  /// The listed services, and the lockers that ask the phone by ``unlock``.
  public var servicesThatMayAsk: [String] {
    unlock == .off
      ? services : DesktopServices.expanded(services + DesktopServices.all.filter(DesktopServices.unlocks))
  }

  /// Whether ``ServiceTable`` or an administrator's file has a row for the service.
  public func knows(_ service: String) -> Bool {
    ServiceTable.row(service) != nil || DesktopServices.isGDM(service) || ownServices.row(service) != nil
  }

  /// The service's row in ``ServiceTable`` or ``ownServices``; nil if there is none.
  public func row(_ service: String) -> ServiceRow? { ServiceTable.row(service) ?? ownServices.row(service) }

  /// By which name ``services`` lists a program, and the broker and the log know it: see
  /// ``ServiceTable/name(of:isUsersOwn:)``. A name that is listed as the program asks by it stays.
  public func name(of service: String, isUsersOwn: Bool) -> String {
    services.contains(service) ? service : ServiceTable.name(of: service, isUsersOwn: isUsersOwn)
  }

  /// Whether the service runs a command for users who show who they are, with the options of sudo(8).
  public func isSudoLike(_ service: String) -> Bool {
    row(service)?.kind == .sudoLike
  }

  /// Whether the service opens a session that the helper watches: by ``ServiceTable``, and otherwise by
  /// ``ownServices``. A file cannot say that sshd's own program opens no session.
  public func opensSession(_ service: String) -> Bool {
    if let row = ServiceTable.row(service) { return row.opensSession }
    guard let row = ownServices.row(service) else { return true }
    return row.opensSession || SSHServer.isThisProgram
  }
}
