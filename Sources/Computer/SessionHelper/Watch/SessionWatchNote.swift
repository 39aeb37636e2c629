import HostState

extension SessionWatch {
  /// The note that the next helper reads.
  public func note(remark: String, isRunningOn: Bool = false) -> WatchNote {
    let asking: WatchNote.Asking = isOver ? .no : isHeld ? .held : .polling
    return WatchNote(
      status: status, since: since / 1_000, awaySince: awaySince.map { $0 / 1_000 },
      unansweredSince: unansweredSince.map { $0 / 1_000 },
      handled: noteOfHandled, leftAsideSince: leftAsideSince.map { $0 / 1_000 }, mark: mark, hasWarned: hasWarned,
      isRunningOn: isRunningOn, asking: asking, remark: remark)
  }

  private var noteOfHandled: String? {
    if isDone, let handled { return handled.rawValue }
    return isOutageHandled ? Cause.unreachable.rawValue : nil
  }
}
