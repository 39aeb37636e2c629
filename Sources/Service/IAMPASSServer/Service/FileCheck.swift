import IAMPASSProtocol
import Logging

extension SignInService {
  /// The longest time of the check while the service works: enough for a hundred gigabytes on a slow disk.
  private static let longestCheck = Duration.seconds(7_200)

  /// Notes whether the start has checked the whole file. Otherwise ``checkFile(of:)`` is still to do so.
  public func noteFile(isChecked: Bool) { core.file.become(isChecked ? .sound : .unchecked) }

  /// Whether the check has found damage.
  public var isFileDamaged: Bool {
    if case .damaged = core.file.state { true } else { false }
  }

  /// Checks the whole file while requests are answered, until the task is cancelled.
  ///
  /// Damage is logged and shown by `/readyz`. Requests that need a damaged page get 503.
  public func checkFile(of storage: SQLiteStorage) async {
    let logger = core.logger
    do {
      guard try await storage.checkWhole(within: Self.longestCheck) else {
        if !Task.isCancelled { logger.warning("the database was not checked: it takes too long") }
        return
      }
      core.file.become(.sound)
      logger.info("the whole database was checked: it is not damaged")
    } catch {
      let text = DisplayText.sanitized((error as? StorageError)?.detail ?? "\(error)")
      core.file.become(.damaged(text))
      logger.error(
        "the database is damaged, or cannot be read",
        metadata: [
          "found": "\(text)",
          "hint": "stop the service, and put the last backup in the place of the database: iampass-server(8)",
        ])
    }
  }
}
