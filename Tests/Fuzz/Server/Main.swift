import FuzzKit

// The fuzzers of the service: what it is asked, and what phones say.

private let target = FuzzTarget.chosen(among: [
  FuzzTarget("requests", lookAtRequests),
  FuzzTarget("answers", lookAtAnswers),
  FuzzTarget("authenticators", lookAtAuthenticators),
  FuzzTarget("subscriptions", lookAtSubscriptions),
])

/// What libFuzzer calls with each input.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  // SAFETY: libFuzzer keeps `count` bytes there for this call.
  target.look(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
