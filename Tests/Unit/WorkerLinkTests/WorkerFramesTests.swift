import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

struct WorkerFramesTests {
  private static let frames: [WorkerFrame] = [
    .settings(WorkerOrigin(origin: "https://a", userAgent: "u", proxy: "", authorities: [1, 2, 3], lifetime: 90)),
    .request(
      id: 7, deadline: MonotonicInstant(nanoseconds: -5),
      HTTPRequest(method: .post, url: "https://a/b", headers: [(name: "A", value: "é")], body: [0, 255])),
    .cancel(id: .max),
    .reply(id: 1, HTTPReply(status: 200, headers: [(name: "", value: "")], body: [])),
    .failure(id: 2, TransportError(.silent, detail: "x")),
  ]

  @Test func framesComeOutAsTheyWentInWhateverThePieces() throws {
    let bytes = Self.frames.flatMap { $0.encoded() }
    for size in [1, 3, bytes.count] {
      var buffer = FrameBuffer(greatest: FrameBuffer.greatestRequest)
      // As bytes: a frame's description leaves out what may be secret.
      var seen: [[UInt8]] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        buffer.append(Array(bytes[start..<min(start + size, bytes.count)]))
        while let frame = try buffer.next() { seen.append(frame.encoded()) }
      }
      #expect(seen == Self.frames.map { $0.encoded() })
    }
  }

  @Test func changedFramesNeverTrap() {
    for frame in Self.frames {
      let bytes = frame.encoded()
      for index in bytes.indices {
        for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
          var changed = bytes
          changed[index] = value
          var buffer = FrameBuffer(greatest: FrameBuffer.greatestReply)
          buffer.append(changed)
          _ = try? buffer.next()
        }
      }
    }
  }

  @Test(
    arguments: [
      [0, 0, 0, 0], [255, 255, 255, 255, 1], [0, 2, 0, 1], [0, 0, 0, 1, 9], [0, 0, 0, 6, 3, 0, 0, 0, 1, 0],
      [0, 0, 0, 10, 5, 0, 0, 0, 1, 99, 0, 0, 0, 0], [0, 0, 0, 10, 5, 0, 0, 0, 1, 1, 0, 0, 0, 9],
    ] as [[UInt8]])
  func whatIsNoFrameIsRefused(bytes: [UInt8]) {
    var buffer = FrameBuffer(greatest: FrameBuffer.greatestReply)
    buffer.append(bytes)
    #expect(throws: MalformedFrame.self) { _ = try buffer.next() }
  }
}
