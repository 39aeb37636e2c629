import IAMPASSProtocol

extension ServiceCore {
  /// For the log. Clients are told nothing of what the storage said.
  func tell(storageFailure error: any Error) {
    // A client that left while something was read for it.
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
