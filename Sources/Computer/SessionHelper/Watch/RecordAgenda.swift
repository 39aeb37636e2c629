/// Which records are due, and when: a heap, so that only records that are due cost time.
///
/// A record calls ``touch(_:)`` when its time may have changed. Times are milliseconds after boot.
final class RecordAgenda {
  private var heap: [(due: Int64, record: WatchedRecord)] = []
  private var touched: [WatchedRecord] = []

  func touch(_ record: WatchedRecord) {
    guard !record.isTouched else { return }
    record.isTouched = true
    touched.append(record)
  }

  /// When the first record is due.
  var next: Int64? {
    settle()
    dropStale()
    return heap.first?.due
  }

  /// The records that are due. They are queued again when they are dealt with.
  func take(at now: Int64) -> [WatchedRecord] {
    var due: [WatchedRecord] = []
    while let next, next <= now {
      let record = popFirst()
      record.queued = nil
      due.append(record)
    }
    // A record that was due and is not dealt with is due again.
    for record in due { touch(record) }
    return due
  }

  private func settle() {
    for record in touched {
      record.isTouched = false
      guard record.due != record.queued else { continue }
      record.queued = record.due
      if let due = record.due { push(due, record) }
    }
    touched.removeAll(keepingCapacity: true)
  }

  private func dropStale() {
    while let first = heap.first, first.record.queued != first.due { _ = popFirst() }
  }

  private func push(_ due: Int64, _ record: WatchedRecord) {
    heap.append((due, record))
    var child = heap.count - 1
    while child > 0, case let parent = (child - 1) / 2, heap[child].due < heap[parent].due {
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private func popFirst() -> WatchedRecord {
    heap.swapAt(0, heap.count - 1)
    let first = heap.removeLast().record
    var parent = 0
    while case let child = smallerChild(of: parent), child < heap.count, heap[child].due < heap[parent].due {
      heap.swapAt(child, parent)
      parent = child
    }
    return first
  }

  private func smallerChild(of parent: Int) -> Int {
    let left = 2 * parent + 1
    return left + 1 < heap.count && heap[left + 1].due < heap[left].due ? left + 1 : left
  }
}
