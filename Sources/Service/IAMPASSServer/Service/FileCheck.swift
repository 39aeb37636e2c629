import IAMPASSProtocol
import Logging

extension SignInService {
  /// How long the check may read while the service works: a hundred gigabytes of a slow disk.
  private static let longestCheck = Duration.seconds(7_200)

  /// Says that the start has checked the whole file, or that ``checkFile(of:)`` is still to do so.
  public func noteFile(isChecked: Bool) { core.file.become(isChecked ? .sound : .unchecked) }

  /// Whether the check has found a damage.
  public var isFileDamaged: Bool {
    if case .damaged = core.file.state { true } else { false }
  }

  /// Checks the whole file while requests are answered, until the task is cancelled.
  ///
  /// A damage is logged, `/readyz` says so, and requests that need a damaged page get 503 as ever.
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
      let told = DisplayText.sanitized((error as? StorageError)?.detail ?? "\(error)")
      core.file.become(.damaged(told))
      logger.error(
        "the database is damaged, or cannot be read",
        metadata: [
          "found": "\(told)",
          "hint": "stop the service, and put the last backup in the place of the database: iampass-server(8)",
        ])
    }
  }
}
