import ArgumentParser
import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

struct HostOptions: ParsableArguments {
  @Option(name: .customLong("config"), help: "Configuration file; credentials and users stand beside it.")
  var path = Configuration.path

  /// Where credentials and users are.
  var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }
}

/// This computer as its files say, with a way to the service.
struct ConfiguredHost {
  /// For one call to the service, in milliseconds.
  private static let patience: Int64 = 15_000

  let usersPath: String
  private let management: ManagementClient

  init(_ options: HostOptions) throws(Failure) {
    try requireRoot()
    do throws(Misconfiguration) {
      let setup = try HostSetup(path: options.path)
      usersPath = setup.usersPath
      management = try Self.management(setup)
    } catch { throw .misconfigured(error, path: options.path) }
  }

  private static func management(_ setup: HostSetup) throws(Misconfiguration) -> ManagementClient {
    let settings = try setup.serviceSettings()
    let credential = try setup.credential()
    let transport = try setup.transport(interruption: nil)
    do {
      return try ManagementClient(
        settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
    } catch { throw .signing(error) }
  }

  /// One call to the service, within its bound.
  func ask<Answer>(
    _ call: (ManagementClient, MonotonicInstant) throws(ServiceError) -> Answer
  ) throws(Failure) -> Answer {
    do { return try call(management, MonotonicInstant.now().advanced(milliseconds: Self.patience)) } catch {
      throw .service(error)
    }
  }

  func usersFile<Result>(_ body: () throws(UserTokensError) -> Result) throws(Failure) -> Result {
    do { return try body() } catch { throw .misconfigured(.users(error, path: usersPath), path: usersPath) }
  }
}
