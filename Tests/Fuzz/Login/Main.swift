import FuzzKit

// The fuzzers of what a login loads: no Foundation here, as there.

private let target = FuzzTarget.chosen(among: [
  FuzzTarget("json", lookAtJSON),
  FuzzTarget("frames", lookAtFrames),
  FuzzTarget("replies", lookAtReplies),
  FuzzTarget("configuration", lookAtConfiguration),
  FuzzTarget("users", lookAtUsers),
  FuzzTarget("credentials", lookAtCredentials),
  FuzzTarget("record", lookAtRecord),
])

/// What libFuzzer calls with each input.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  // SAFETY: libFuzzer keeps `count` bytes there for this call.
  target.look(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
