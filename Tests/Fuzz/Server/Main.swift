import CFuzzer
import FuzzKit

private let target = FuzzTarget.chosen(among: serviceTargets)

@c(fuzz_server_main)
public func start(_ count: CInt, _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
  var count = count
  var words = words
  return LLVMFuzzerRunDriver(&count, &words, look)
}

/// Under this name libFuzzer's own main, which is linked too, would find it.
@c(LLVMFuzzerTestOneInput)
public func look(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  // SAFETY: libFuzzer keeps `count` bytes there for this call.
  target.look(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
