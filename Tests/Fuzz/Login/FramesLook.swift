import FuzzKit

@testable import IAMPASSClient

/// The worker's words: whole frames or none, the same in one piece and in many, and each written as it was read.
///
/// The first byte says how large the pieces are in which the rest arrives.
func lookAtFrames(_ input: [UInt8]) {
  guard let first = input.first else { return }
  let stream = Array(input.dropFirst())
  let whole = frames(stream, piece: stream.count)
  let pieces = frames(stream, piece: Int(first) + 1)
  must(whole.frames == pieces.frames, "frames depend on how they arrive")
  must(whole.isRefused == pieces.isRefused, "a refusal depends on how the bytes arrive")
  var place = 0
  for frame in whole.frames {
    // What was not UTF-8 is repaired, so that only what was is the same again.
    let length = 4 + stream[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
    let source = Array(stream[place..<place + length])
    if String(validating: source.filter { $0 != 0 }, as: UTF8.self) != nil, frame.count == source.count {
      must(frame == source, "a frame is written otherwise than it was read")
    }
    let again = frames(frame, piece: frame.count)
    must(again.frames == [frame] && !again.isRefused, "a frame is not read as it was written")
    place += length
  }
}

/// The frames, each written anew, until the first that is none.
private func frames(_ stream: [UInt8], piece: Int) -> (frames: [[UInt8]], isRefused: Bool) {
  var buffer = FrameBuffer(greatest: FrameBuffer.greatestReply)
  var found: [[UInt8]] = []
  var place = 0
  while true {
    do {
      while let frame = try buffer.next() {
        check(frame)
        found.append(frame.encoded())
      }
    } catch { return (found, true) }
    guard place < stream.count else { return (found, false) }
    let end = min(place + max(piece, 1), stream.count)
    buffer.append(stream[place..<end])
    place = end
  }
}

private func check(_ frame: WorkerFrame) {
  switch frame {
  case .reply(_, let reply):
    must((100...999).contains(reply.status), "a reply's status is no HTTP status")
    must(reply.body.count <= FrameBuffer.greatestReply, "a reply is larger than a frame")
  case .settings, .request, .cancel, .failure: break
  }
}
