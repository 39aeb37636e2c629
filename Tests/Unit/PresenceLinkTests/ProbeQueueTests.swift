import PresenceLink
import PresenceProbe
import Testing

/// `#expect` takes no call that changes what it is called on.
private final class Queue {
  private var queue = ProbeQueue<Int>()

  func add(_ request: ProbeRequest, of client: Int) -> Bool { queue.add(request, of: client) }
  func next(now: Int64) -> (client: Int, request: ProbeRequest)? { queue.next(now: now) }
  func rested(_ phone: BluetoothAddress, from now: Int64) { queue.rested(phone, from: now) }
  func remove(_ client: Int) { queue.remove(client) }
  func isWaiting(_ client: Int) -> Bool { queue.isWaiting(client) }
  func wake(now: Int64) -> Int64? { queue.wake(now: now) }
}

@Suite struct ProbeQueueTests {
  private let adapter = BluetoothAddress("00:AA:01:00:00:00")!

  private func request(_ last: Int) -> ProbeRequest {
    let octet = String(last, radix: 16)
    return ProbeRequest(
      adapter: adapter, phone: BluetoothAddress("A4:C3:F0:11:22:\(octet.count == 1 ? "0" : "")\(octet)")!,
      level: .medium)
  }

  @Test func theOldestRequestComesFirst() {
    let queue = Queue()
    for client in 1...5 { #expect(queue.add(request(client), of: client)) }
    for client in 1...5 { #expect(queue.next(now: 0)?.client == client) }
    #expect(queue.next(now: 0) == nil)
    #expect(queue.wake(now: 0) == nil)
  }

  @Test func anAskerHasOneRequestAtATime() {
    let queue = Queue()
    #expect(queue.add(request(1), of: 1))
    #expect(!queue.add(request(2), of: 1))
    #expect(queue.isWaiting(1))
    queue.remove(1)
    #expect(!queue.isWaiting(1))
    #expect(queue.next(now: 0) == nil)
  }

  @Test func aPhoneRestsAndOthersDoNotWaitForIt() {
    let queue = Queue()
    queue.rested(request(1).phone, from: 1_000)
    #expect(queue.add(request(1), of: 1))
    #expect(queue.add(request(2), of: 2))
    #expect(queue.wake(now: 1_000) == 1_000)
    #expect(queue.next(now: 1_000)?.client == 2)
    #expect(queue.next(now: 3_499) == nil)
    #expect(queue.wake(now: 3_499) == 3_500)
    #expect(queue.next(now: 3_500)?.client == 1)
  }

  @Test func whoeverAsksForMoreAndMorePhonesWaits() {
    let queue = Queue()
    for last in 1...64 { queue.rested(request(last).phone, from: 1_000) }
    #expect(queue.add(request(100), of: 1))
    #expect(queue.next(now: 1_001) == nil)
    #expect(queue.wake(now: 1_001) == 3_500)
    #expect(queue.next(now: 3_500) != nil)
  }
}
