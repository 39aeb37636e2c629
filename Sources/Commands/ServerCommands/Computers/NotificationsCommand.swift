import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct NotificationsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notifications", abstract: "Manage how an application's own apps are rung.",
    discussion: """
      Apps built on the library IAMPASSPhone tell the service their device tokens. The service rings them through Apple \
      (APNs) or Google (FCM) by these settings. The phone's page and iampass-phone need none.
      """,
    subcommands: [SetApple.self, SetGoogle.self, Show.self, Remove.self])

  struct Options: ParsableArguments {
    @Argument(help: "The application's name or id.")
    var application: String

    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    func managing<Value>(_ work: (any OperatorStore) async throws -> Value) async throws -> Value {
      try await explaining {
        let storage = try place.existing(seal)
        do { return try await work(storage) } catch let refusal as ApplicationRefusal {
          throw CommandProblem(
            refusal, name: DisplayText.sanitized(application), known: await storage.knownApplications())
        }
      }
    }

    /// Stores the settings that `make` reads from files, and prints it.
    func set(_ make: () throws -> NotificationSettings) async throws {
      // This is first: a bad file can be reported without the database.
      let settings = try await explaining { try make() }
      try await managing { try await $0.setNotifications(settings, of: application, at: $0.now()) }
      try Output.say("\(DisplayText.sanitized(application)) rings apps through \(settings.service.name)")
    }
  }

  struct SetGoogle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "google", abstract: "Ring the application's apps through Google's FCM.",
      discussion: "It takes the place of an earlier account. The service may be running.")

    @OptionGroup var options: Options

    @Option(
      help: ArgumentHelp("The JSON file of a service account of the app's Firebase project.", valueName: "file"),
      completion: .file())
    var serviceAccount: String

    func run() async throws {
      try await options.set {
        let file = try SettingFile.read(serviceAccount)
        return try faulting(serviceAccount) { () throws(NotificationFault) in
          .google(try GoogleNotifications(serviceAccount: file))
        }
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show an application's notification settings, without the keys.",
      discussion: "A line for each service. Times are UTC.")

    @OptionGroup var options: Options

    func run() async throws {
      let set = try await options.managing { try await $0.notifications(of: options.application) }
      try Output.say(set.map { "\($0.line) set=\($0.setAt.text)" })
    }
  }

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ring no app through a service any more, and delete its key.",
      discussion: "Delete or revoke the key at Apple or Google, too: backups of the database still have it.")

    @OptionGroup var options: Options

    @Argument(help: "apple or google.")
    var service: NotificationService

    func run() async throws {
      let wasSet = try await options.managing {
        try await $0.removeNotifications(service, of: options.application)
      }
      guard wasSet else {
        throw CommandProblem.notificationsNotSet(DisplayText.sanitized(options.application), service)
      }
      try Output.say("\(DisplayText.sanitized(options.application)) rings no app through \(service.name) any more")
    }
  }
}

extension NotificationService: ExpressibleByArgument {}

/// Runs `work` on a file's content.
func faulting<Value>(_ file: String, _ work: () throws(NotificationFault) -> Value) throws -> Value {
  do { return try work() } catch {
    throw CommandProblem(
      message: "\(DisplayText.sanitized(file)) cannot be used: \(error.explanation)", hint: error.hint,
      exitCode: EX_DATAERR)
  }
}

extension CommandProblem {
  fileprivate static func notificationsNotSet(_ application: String, _ service: NotificationService) -> CommandProblem {
    CommandProblem(
      message: "\(application) rings no app through \(service.name)",
      hint: "iampass-server application notifications show \(application)", exitCode: EX_DATAERR)
  }
}
