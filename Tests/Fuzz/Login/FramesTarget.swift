import FuzzKit

@testable import HostSystem
@testable import IAMPASSClient
@testable import WorkerLink

/// The worker's words: whole frames or none, the same in one piece and in many, and each written as it was read.
///
/// The first byte says how large the pieces are in which the rest arrives.
func fuzzFrames(_ input: [UInt8]) {
  guard let first = input.first else { return }
  let stream = Array(input.dropFirst())
  let whole = frames(stream, piece: stream.count)
  let pieces = frames(stream, piece: Int(first) + 1)
  must(whole.frames == pieces.frames, "frames depend on how they arrive")
  must(whole.isRefused == pieces.isRefused, "a refusal depends on how the bytes arrive")
  var place = 0
  for frame in whole.frames {
    let length = 4 + stream[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
    let source = Array(stream[place..<place + length])
    must(frame.isRepaired || frame.written == source, "a frame is written otherwise than it was read")
    let again = frames(frame.written, piece: frame.written.count)
    must(again.frames == [frame] && !again.isRefused, "a frame is not read as it was written")
    place += length
  }
}

private struct Frame: Equatable {
  let written: [UInt8]
  /// Invalid UTF-8 is read as U+FFFD, so that it cannot be written back.
  let isRepaired: Bool

  init(_ frame: WorkerFrame) {
    written = frame.encoded()
    isRepaired = Frame.texts(of: frame).contains { $0.unicodeScalars.contains("\u{FFFD}") }
  }

  private static func texts(of frame: WorkerFrame) -> [String] {
    switch frame {
    case .settings(let origin): [origin.origin, origin.userAgent, origin.proxy]
    case .request(_, _, let request): [request.url] + request.headers.flatMap { [$0.name, $0.value] }
    case .reply(_, let reply): reply.headers.flatMap { [$0.name, $0.value] }
    case .failure(_, let error): [error.detail]
    case .greeting(let greeting): [greeting.place.user]
    case .cancel: []
    }
  }
}

/// The frames, each written again, up to the first invalid one.
private func frames(_ stream: [UInt8], piece: Int) -> (frames: [Frame], isRefused: Bool) {
  var buffer = FrameBuffer(greatest: FrameBuffer.greatestReply)
  var found: [Frame] = []
  var place = 0
  while true {
    do {
      while let frame = try buffer.next() {
        check(frame)
        found.append(Frame(frame))
      }
    } catch { return (found, true) }
    guard place < stream.count else { return (found, false) }
    let end = min(place + max(piece, 1), stream.count)
    buffer.append(Array(stream[place..<end]))
    place = end
  }
}

private func check(_ frame: WorkerFrame) {
  switch frame {
  case .reply(_, let reply):
    must((100...999).contains(reply.status), "a reply's status is not an HTTP status")
    must(reply.body.count <= FrameBuffer.greatestReply, "a reply is larger than a frame")
  case .settings, .request, .cancel, .failure, .greeting: break
  }
}
