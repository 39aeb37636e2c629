/// The curve P-256: y² = x³ − 3x + b over the integers modulo p (SP 800-186, §3.2.1.3).
///
/// This only checks whether a pair of numbers is a point of the curve, so that a wrong key is refused when it is read.
/// All numbers are public, so the time may depend on them.
enum P256Curve {
  /// 256 bits, the lowest 64 first.
  private typealias Number = [UInt64]

  private static let p: Number = [0xFFFF_FFFF_FFFF_FFFF, 0x0000_0000_FFFF_FFFF, 0, 0xFFFF_FFFF_0000_0001]
  private static let b: Number = [
    0x3BCE_3C3E_27D2_604B, 0x651D_06B0_CC53_B0F6, 0xB3EB_BD55_7698_86BC, 0x5AC6_35D8_AA3A_93E7,
  ]
  private static let one: Number = [1, 0, 0, 0]

  /// Whether these are the coordinates of a point.
  ///
  /// - Parameter coordinates: 64 bytes, x then y, each with its highest byte first.
  static func hasPoint(_ coordinates: [UInt8]) -> Bool {
    guard coordinates.count == 64 else { return false }
    let x = number(coordinates[..<32])
    let y = number(coordinates[32...])
    guard isBelowP(x), isBelowP(y) else { return false }
    // y² + 3x = x³ + b, with each side divided by R² since each product divides by R once.
    let left = sum(sum(product(product(y, y), one), scaled(x)), sum(scaled(x), scaled(x)))
    let right = sum(product(product(x, x), x), scaled(b))
    return left == right
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Number {
    var number: Number = [0, 0, 0, 0]
    for (place, byte) in bytes.reversed().enumerated() { number[place / 8] |= UInt64(byte) << UInt64(place % 8 * 8) }
    return number
  }

  private static func isBelowP(_ number: Number) -> Bool { less(number, p).borrows }

  /// a / R² modulo p.
  private static func scaled(_ a: Number) -> Number { product(product(a, one), one) }

  /// a + b modulo p.
  private static func sum(_ a: Number, _ b: Number) -> Number {
    var sum = a
    var carry: UInt64 = 0
    for place in 0..<4 { (carry, sum[place]) = added(a[place], b[place], carry) }
    return reduced(sum, carry)
  }

  /// a · b / R modulo p, with R = 2²⁵⁶: Montgomery's product, one word of `b` at a time. The factor that makes the
  /// lowest word zero is that word itself, since p ends in 64 ones.
  private static func product(_ a: Number, _ b: Number) -> Number {
    var sum: Number = [0, 0, 0, 0]
    var top: UInt64 = 0
    for word in b {
      let over = accumulate(a, times: word, into: &sum)
      let (low, carry) = top.addingReportingOverflow(over)
      let overP = accumulate(p, times: sum[0], into: &sum)
      let (high, carryP) = low.addingReportingOverflow(overP)
      sum = [sum[1], sum[2], sum[3], high]
      top = (carry ? 1 : 0) + (carryP ? 1 : 0)
    }
    return reduced(sum, top)
  }

  /// Adds `number` · `factor`.
  ///
  /// - Returns: the part beyond 256 bits.
  private static func accumulate(_ number: Number, times factor: UInt64, into sum: inout Number) -> UInt64 {
    var carry: UInt64 = 0
    for place in 0..<4 {
      let (high, low) = number[place].multipliedFullWidth(by: factor)
      let (over, word) = added(sum[place], low, carry)
      sum[place] = word
      // The sum of high and over fits: (2⁶⁴ − 1)² + 2 · (2⁶⁴ − 1) is less than 2¹²⁸.
      carry = high + over
    }
    return carry
  }

  /// - Parameter carry: at most 2⁶⁴ − 1. The returned carry is 0, 1 or 2.
  private static func added(_ a: UInt64, _ b: UInt64, _ carry: UInt64) -> (carry: UInt64, sum: UInt64) {
    let (first, one) = a.addingReportingOverflow(b)
    let (sum, two) = first.addingReportingOverflow(carry)
    return ((one ? 1 : 0) + (two ? 1 : 0), sum)
  }

  /// A number less than 2p, modulo p.
  private static func reduced(_ number: Number, _ carry: UInt64) -> Number {
    let (difference, borrows) = less(number, p)
    return carry == 0 && borrows ? number : difference
  }

  /// a − b modulo R, and whether b is greater than a.
  private static func less(_ a: Number, _ b: Number) -> (difference: Number, borrows: Bool) {
    var difference = a
    var borrows = false
    for place in 0..<4 {
      let (first, one) = a[place].subtractingReportingOverflow(b[place])
      let (rest, two) = first.subtractingReportingOverflow(borrows ? 1 : 0)
      difference[place] = rest
      borrows = one || two
    }
    return (difference, borrows)
  }
}
