import IAMPASSProtocol

extension ServiceCore {
  /// Logs a failure of the storage. Clients do not get its text.
  func tell(storageFailure error: any Error) {
    // The client has gone while data was read for it.
    if error is CancellationError { return }
    metrics.countStorageFailure()
    let trouble = storage.trouble(behind: error)
    guard let count = storage.alarm.failed(trouble, at: clock()) else { return }
    logger.error(
      "the storage does not work",
      metadata: ["error": "\(DisplayText.sanitized("\(error)"))", "hint": "\(trouble.hint)", "failures": "\(count)"])
  }

  func tellWhenStorageWorksAgain() {
    if storage.alarm.takeEnd() { logger.notice("the storage works again") }
  }
}
